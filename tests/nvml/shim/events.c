/* Event sets. An event goes once to each set that had registered its device before the event happened. */
#include "shim.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

/* One device of a set, and the last event of it that is done with. */
typedef struct {
    char uuid[TEXT];
    unsigned long long types, done;
} Registration;

typedef struct {
    pthread_mutex_t lock;
    int count;
    Registration registrations[64];
} EventSet;

typedef struct {
    Handle *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
} EventData;

int nvmlDeviceGetSupportedEventTypes(Handle *handle, unsigned long long *types) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    if (device->events == NONE) return NOT_SUPPORTED;
    *types = (unsigned long long)device->events;
    return SUCCESS;
}

int nvmlEventSetCreate(EventSet **set) {
    int code = begin(__func__);
    if (code != SUCCESS) return code;
    *set = calloc(1, sizeof **set);
    if (*set == NULL) return OUT_OF_MEMORY;
    pthread_mutex_init(&(*set)->lock, NULL);
    return SUCCESS;
}

int nvmlEventSetFree(EventSet *set) {
    int code = begin(__func__);
    if (code == SUCCESS) free(set);
    return code;
}

int nvmlDeviceRegisterEvents(Handle *handle, unsigned long long types, EventSet *set) {
    const Device *device;
    int code = begin_for(__func__, handle, &device);
    if (code != SUCCESS) return code;
    if (device->events == NONE || (types & ~(unsigned long long)device->events) != 0) return NOT_SUPPORTED;
    unsigned long long last = state.event_count == 0 ? 0 : state.events[state.event_count - 1].sequence;
    pthread_mutex_lock(&set->lock);
    Registration *found = set->registrations;
    while (found < set->registrations + set->count && strcmp(found->uuid, device->uuid) != 0) found++;
    if (found == set->registrations + set->count) {
        if (set->count == (int)(sizeof set->registrations / sizeof *found)) refuse("too many GPUs in a set of events", device->uuid);
        set->count++;
        strcpy(found->uuid, device->uuid);
        found->done = last;
    }
    found->types |= types;
    pthread_mutex_unlock(&set->lock);
    return SUCCESS;
}

/* The first event of the state that this set has yet to be given. */
static const Event *next_of(EventSet *set) {
    for (const Event *event = state.events; event < state.events + state.event_count; event++) {
        bool is_anybodys = strcmp(event->uuid, "-") == 0, is_new = false;
        for (Registration *each = set->registrations; each < set->registrations + set->count; each++) {
            bool is_its = is_anybodys || strcmp(each->uuid, event->uuid) == 0;
            if (!is_its || (each->types & event->type) == 0 || event->sequence <= each->done) continue;
            each->done = event->sequence;
            is_new = true;
        }
        if (is_new) return event;
    }
    return NULL;
}

static long long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Tells by becoming readable that the state file was replaced; a wait that only looks now and then would cost more
   than all the rest that the agent does. One for each thread that waits, and never closed: that takes the kernel tens
   of milliseconds, which would come between an event and whoever waits for it. */
static int watch_state(void) {
    static _Thread_local int watch = -1;
    if (watch >= 0) return watch;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", getenv("NVML_SHIM_STATE"));
    watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch < 0 || inotify_add_watch(watch, dirname(folder), IN_MOVED_TO) < 0) {
        refuse("inotify", strerror(errno));
    }
    return watch;
}

int nvmlEventSetWait_v2(EventSet *set, EventData *data, unsigned timeout) {
    int code = begin(__func__);
    if (code != SUCCESS) return code;
    long long until = milliseconds() + timeout;
    struct pollfd watch = {.fd = watch_state(), .events = POLLIN};
    const Event *event = NULL;
    for (;;) {
        code = again(__func__);
        pthread_mutex_lock(&set->lock);
        if (code == SUCCESS) event = next_of(set);
        pthread_mutex_unlock(&set->lock);
        long long left = until - milliseconds();
        if (code == SUCCESS && event == NULL && left <= 0) code = TIMED_OUT;
        if (code != SUCCESS || event != NULL) break;
        char changes[4096];
        if (poll(&watch, 1, (int)left) > 0 && read(watch.fd, changes, sizeof changes) < 0) {
            refuse("inotify", strerror(errno));
        }
    }
    if (code != SUCCESS) return code;
    const Device *device = device_of(event->uuid);
    Handle *handle = device == NULL ? NULL : handle_of(device);
    *data = (EventData){handle, event->type, event->data, event->gpu_instance, event->compute_instance};
    return SUCCESS;
}
