/* What nobody of this project may ask for: the processes of a GPU. They answer, with one process, and are logged. */
#include "shim.h"

enum { PID = 424242 };

typedef struct {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} Process;

static int give_processes(const char *function, Handle *handle, unsigned *count, Process *processes) {
    const Device *device;
    int code = begin_for(function, handle, &device);
    if (code != SUCCESS) return code;
    bool fits = *count >= 1 && processes != 0;
    *count = 1;
    if (!fits) return INSUFFICIENT_SIZE;
    processes[0] = (Process){.pid = PID};
    return SUCCESS;
}

#define GIVES_PROCESSES(name) \
    int name(Handle *handle, unsigned *count, Process *processes) { \
        return give_processes(__func__, handle, count, processes); \
    }

GIVES_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
GIVES_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
GIVES_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
GIVES_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
GIVES_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
GIVES_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned size) {
    int code = begin(__func__);
    if (code != SUCCESS) return code;
    return pid == PID ? copy_text("somebody's job", text, size) : NOT_FOUND;
}
