/* The library as a whole: how a call begins, init and shutdown, versions, handles. */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Handle *handles;
static int users; /* as often as it was initialised, and not yet shut down */

/* One line a call, in one write: lines of several threads and processes do not mix. */
static void log_call(const char *function) {
    const char *path = getenv("NVML_SHIM_CALLS");
    if (path == NULL) return;
    char line[2 * TEXT];
    int length = snprintf(line, sizeof line, "%d %s\n", (int)getpid(), function);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line, (size_t)length) != length) refuse(path, strerror(errno));
    close(file);
}

/* The first rule that matches is the one that holds. */
static const Rule *rule_of(const char *function, int owner) {
    for (int at = 0; at < state.rule_count; at++) {
        const Rule *rule = &state.rules[at];
        bool matches = strcmp(rule->function, "*") == 0 || strcmp(rule->function, function) == 0;
        if (rule->owner == owner && matches) return rule;
    }
    return NULL;
}

/* Waits as long as the state says that the function hangs; then what it says instead. */
static int decided(const char *function, const char *uuid) {
    for (;; usleep(20000)) {
        read_state();
        const Device *device = uuid == NULL ? NULL : device_of(uuid);
        if (uuid != NULL && device == NULL) return SUCCESS; /* the caller looks for it, too */
        int owner = device == NULL ? NODE : (int)(device - state.devices);
        const Rule *rule = rule_of(function, owner);
        if (rule == NULL && device != NULL && device->parent != NONE) rule = rule_of(function, device->parent);
        if (rule == NULL) return SUCCESS;
        if (!rule->hangs) return rule->code;
    }
}

int begin_before_init(const char *function) {
    log_call(function);
    return again(function);
}

int again(const char *function) { return decided(function, NULL); }

int begin(const char *function) {
    int code = begin_before_init(function);
    if (code != SUCCESS) return code;
    pthread_mutex_lock(&lock);
    bool initialised = users > 0;
    pthread_mutex_unlock(&lock);
    return initialised ? SUCCESS : UNINITIALIZED;
}

int begin_for_uuid(const char *function, const char *uuid, const Device **device) {
    int code = decided(function, uuid);
    *device = device_of(uuid);
    return code == SUCCESS && *device == NULL ? NOT_FOUND : code;
}

int begin_for(const char *function, const Handle *handle, const Device **device) {
    int code = begin(function);
    if (code != SUCCESS) return code;
    if (handle == NULL) return INVALID_ARGUMENT;
    code = begin_for_uuid(function, handle->uuid, device);
    if (*device != NULL) return code;
    return handle->is_mig ? INVALID_ARGUMENT : GPU_IS_LOST; /* it was removed since it gave this handle */
}

Handle *handle_of(const Device *device) {
    pthread_mutex_lock(&lock);
    Handle *found = handles;
    while (found != NULL && strcmp(found->uuid, device->uuid) != 0) found = found->next;
    if (found == NULL && (found = calloc(1, sizeof *found)) != NULL) {
        snprintf(found->uuid, TEXT, "%s", device->uuid);
        found->is_mig = device->parent != NONE;
        found->next = handles;
        handles = found;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int copy_text(const char *from, char *to, unsigned size) {
    if (strlen(from) >= size) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int code = begin_before_init(__func__);
    if (code != SUCCESS) return code;
    pthread_mutex_lock(&lock);
    users++;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int nvmlInit_v2(void) {
    int code = begin_before_init(__func__);
    return code != SUCCESS ? code : nvmlInitWithFlags(0);
}

int nvmlShutdown(void) {
    int code = begin(__func__);
    if (code != SUCCESS) return code;
    pthread_mutex_lock(&lock);
    users--;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    static _Thread_local char text[32];
    log_call(__func__);
    snprintf(text, sizeof text, "NVML error %d", code);
    return text;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    int code = begin(__func__);
    return code != SUCCESS ? code : copy_text(state.driver, text, size);
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size) {
    int code = begin(__func__);
    return code != SUCCESS ? code : copy_text(state.library, text, size);
}
