/* GPUs, MIG devices, and what they say about themselves. Layouts and names are those of nvml.h. */
#include "shim.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int give_handle(const Device *device, Handle **handle) {
    *handle = handle_of(device);
    return *handle == NULL ? OUT_OF_MEMORY : SUCCESS;
}

/* --- which devices there are ------------------------------------------------------------------------------------- */

int nvmlDeviceGetCount_v2(unsigned *count) {
    int code = begin(__func__);
    if (code == SUCCESS) *count = (unsigned)state.gpu_count; /* those without a handle included */
    return code;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle **handle) {
    int code = begin(__func__);
    if (code != SUCCESS) return code;
    const Device *device = gpu_at((int)index);
    if (device == NULL) return INVALID_ARGUMENT;
    char uuid[TEXT];
    strcpy(uuid, device->uuid);
    code = begin_for_uuid(__func__, uuid, &device);
    return code != SUCCESS ? code : give_handle(device, handle);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Handle **handle) {
    int code = begin(__func__);
    const Device *device;
    if (code == SUCCESS) code = begin_for_uuid(__func__, uuid, &device);
    return code != SUCCESS ? code : give_handle(device, handle);
}

int nvmlDeviceGetIndex(Handle *handle, unsigned *index) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *index = (unsigned)device->index;
    return code;
}

int nvmlDeviceGetUUID(Handle *handle, char *text, unsigned size) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    return code != SUCCESS ? code : copy_text(device->uuid, text, size);
}

int nvmlDeviceGetName(Handle *handle, char *text, unsigned size) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    return code != SUCCESS ? code : copy_text(device->name, text, size);
}

typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} PciInfo;

int nvmlDeviceGetPciInfo_v3(Handle *handle, PciInfo *info) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    memset(info, 0, sizeof *info);
    if (sscanf(device->pci, "%x:%x:%x", &info->domain, &info->bus, &info->device) != 3) return NOT_SUPPORTED;
    snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%04x:%02x:%02x.0", info->domain & 0xffff,
             info->bus & 0xff, info->device & 0xff);
    return copy_text(device->pci, info->bus_id, sizeof info->bus_id);
}

typedef struct {
    unsigned long long total, free, used;
} Memory;

typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} MemoryV2;

int nvmlDeviceGetMemoryInfo(Handle *handle, Memory *memory) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *memory = (Memory){device->memory, device->memory, 0};
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(Handle *handle, MemoryV2 *memory) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *memory = (MemoryV2){memory->version, device->memory, 0, device->memory, 0};
    return code;
}

/* --- MIG --------------------------------------------------------------------------------------------------------- */

int nvmlDeviceGetMigMode(Handle *handle, unsigned *now, unsigned *pending) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    if (device->mig_mode == NONE) return NOT_SUPPORTED;
    *now = *pending = (unsigned)device->mig_mode;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(Handle *handle, unsigned *count) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *count = (unsigned)device->mig_slots;
    return code;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Handle *handle, unsigned slot, Handle **found) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    if ((int)slot >= device->mig_slots) return INVALID_ARGUMENT;
    const Device *mig = device->mig_mode == 1 ? mig_at(device, (int)slot) : NULL;
    return mig == NULL ? NOT_FOUND : give_handle(mig, found);
}

int nvmlDeviceIsMigDeviceHandle(Handle *handle, unsigned *answer) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *answer = device->parent != NONE;
    return code;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle *handle, Handle **found) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    return device->parent == NONE ? INVALID_ARGUMENT : give_handle(&state.devices[device->parent], found);
}

int nvmlDeviceGetGpuInstanceId(Handle *handle, unsigned *id) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *id = (unsigned)device->gpu_instance;
    return code == SUCCESS && device->parent == NONE ? NOT_SUPPORTED : code;
}

int nvmlDeviceGetComputeInstanceId(Handle *handle, unsigned *id) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code == SUCCESS) *id = (unsigned)device->compute_instance;
    return code == SUCCESS && device->parent == NONE ? NOT_SUPPORTED : code;
}

typedef struct {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices;
    unsigned long long memory_mib;
} Attributes;

int nvmlDeviceGetAttributes_v2(Handle *handle, Attributes *attributes) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    if (device->parent == NONE) return NOT_SUPPORTED;
    *attributes = (Attributes){.gpu_slices = (unsigned)device->gpu_slices,
                               .compute_slices = (unsigned)device->compute_slices,
                               .memory_mib = device->memory >> 20};
    return SUCCESS;
}

/* --- health ------------------------------------------------------------------------------------------------------ */

int nvmlDeviceGetRemappedRows(Handle *handle, unsigned *correctable, unsigned *uncorrectable, unsigned *pending,
                              unsigned *failure) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    /* Where MIG is active, NVML does not tell. */
    if (device->remapped[0] == NONE || device->mig_mode == 1) return NOT_SUPPORTED;
    *correctable = (unsigned)device->remapped[0];
    *uncorrectable = (unsigned)device->remapped[1];
    *pending = (unsigned)device->remapped[2];
    *failure = (unsigned)device->remapped[3];
    return SUCCESS;
}

typedef struct {
    uint32_t id, scope;
    int64_t timestamp, latency;
    int type, code;
    unsigned long long value;
} FieldValue;

enum { UNSIGNED_INT = 1 };

int nvmlDeviceGetFieldValues(Handle *handle, int count, FieldValue *values) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    for (FieldValue *value = values; value < values + count; value++) {
        value->type = UNSIGNED_INT;
        value->code = NOT_SUPPORTED;
        for (const Field *field = state.fields; field < state.fields + state.field_count; field++) {
            if (&state.devices[field->owner] == device && field->id == (int)value->id) {
                value->code = field->code;
                value->value = field->value;
            }
        }
    }
    return SUCCESS;
}
