/* Reads the state file. */
#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Thread_local State state;

void refuse(const char *what, const char *text) {
    fprintf(stderr, "nvml shim: %s: %s\n", what, text);
    abort();
}

static int place(int *count, int most, const char *what) {
    if (*count == most) refuse("too many", what);
    return (*count)++;
}

static Device *current(const char *line) {
    if (state.device_count == 0) refuse("before any device", line);
    return &state.devices[state.device_count - 1];
}

static void add_device(const char *uuid, bool is_mig) {
    int parent = NONE;
    if (is_mig) {
        const Device *before = current(uuid);
        parent = before->parent == NONE ? state.device_count - 1 : before->parent;
    }
    Device *added = &state.devices[place(&state.device_count, MAX_DEVICES, "devices")];
    *added = (Device){.parent = parent, .index = is_mig ? 0 : state.gpu_count++, .mig_mode = NONE, .events = NONE};
    added->remapped[0] = NONE;
    snprintf(added->uuid, TEXT, "%s", uuid);
}

/* `fail` and `hang` stand before the first device for the node, and after a device for that one. */
static void add_rule(const char *function, bool hangs, int code) {
    Rule *added = &state.rules[place(&state.rule_count, MAX_RULES, "rules")];
    *added = (Rule){.owner = state.device_count - 1, .hangs = hangs, .code = code};
    snprintf(added->function, TEXT, "%s", function);
}

static void add_field(int id, int code, unsigned long long value) {
    Field added = {.owner = state.device_count - 1, .id = id, .code = code, .value = value};
    state.fields[place(&state.field_count, MAX_FIELDS, "fields")] = added;
}

static bool read_of_device(const char *key, const char *rest, const char *line) {
    Device *device = current(line);
    unsigned long long mebibytes;
    if (strcmp(key, "name") == 0) return snprintf(device->name, TEXT, "%s", rest) < TEXT;
    if (strcmp(key, "pci") == 0) return snprintf(device->pci, sizeof device->pci, "%s", rest) < 32;
    if (strcmp(key, "events") == 0) return sscanf(rest, "%lld", &device->events) == 1;
    if (strcmp(key, "mig-mode") == 0) return sscanf(rest, "%d %d", &device->mig_mode, &device->mig_slots) == 2;
    if (strcmp(key, "slot") == 0) return sscanf(rest, "%d", &device->index) == 1;
    if (strcmp(key, "instances") == 0)
        return sscanf(rest, "%d %d", &device->gpu_instance, &device->compute_instance) == 2;
    if (strcmp(key, "slices") == 0) return sscanf(rest, "%d %d", &device->gpu_slices, &device->compute_slices) == 2;
    if (strcmp(key, "remapped") == 0) {
        int *rows = device->remapped;
        return sscanf(rest, "%d %d %d %d", &rows[0], &rows[1], &rows[2], &rows[3]) == 4;
    }
    if (strcmp(key, "memory") == 0 && sscanf(rest, "%llu", &mebibytes) == 1) {
        device->memory = mebibytes << 20;
        return true;
    }
    return false;
}

static void read_line(char *line) {
    char key[TEXT], function[TEXT];
    int length = 0, id, code;
    unsigned long long value;
    if (sscanf(line, "%95s %n", key, &length) != 1) return; /* an empty line */
    const char *rest = line + length;
    if (strcmp(key, "driver") == 0) {
        snprintf(state.driver, TEXT, "%s", rest);
    } else if (strcmp(key, "nvml") == 0) {
        snprintf(state.library, TEXT, "%s", rest);
    } else if (strcmp(key, "fail") == 0 && sscanf(rest, "%95s %d", function, &code) == 2) {
        add_rule(function, false, code);
    } else if (strcmp(key, "hang") == 0 && sscanf(rest, "%95s", function) == 1) {
        add_rule(function, true, SUCCESS);
    } else if (strcmp(key, "gpu") == 0 || strcmp(key, "mig") == 0) {
        add_device(rest, key[0] == 'm');
    } else if (strcmp(key, "field") == 0 && sscanf(rest, "%d %d %llu", &id, &code, &value) == 3) {
        add_field(id, code, value);
    } else if (strcmp(key, "event") == 0) {
        Event *event = &state.events[place(&state.event_count, MAX_EVENTS, "events")];
        if (sscanf(rest, "%llu %95s %llu %llu %u %u", &event->sequence, event->uuid, &event->type, &event->data,
                   &event->gpu_instance, &event->compute_instance) != 6)
            refuse("not understood", line);
    } else if (!read_of_device(key, rest, line)) {
        refuse("not understood", line);
    }
}

/* The writer replaces the file, and gives each one a later time than the one before. */
static bool is_read(FILE *file) {
    static _Thread_local struct stat last;
    struct stat now;
    if (fstat(fileno(file), &now) != 0) refuse("fstat", "the state file");
    bool same = now.st_mtim.tv_sec == last.st_mtim.tv_sec && now.st_mtim.tv_nsec == last.st_mtim.tv_nsec;
    last = now;
    return same;
}

void read_state(void) {
    const char *path = getenv("NVML_SHIM_STATE");
    if (path == NULL) refuse("the variable is not set", "NVML_SHIM_STATE");
    FILE *file = fopen(path, "re");
    if (file == NULL) refuse("no state file", path);
    if (is_read(file)) {
        fclose(file);
        return;
    }
    state.gpu_count = state.device_count = state.rule_count = state.field_count = state.event_count = 0;
    char line[512];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        read_line(line);
    }
    fclose(file);
}

const Device *device_of(const char *uuid) {
    for (int at = 0; at < state.device_count; at++)
        if (strcmp(state.devices[at].uuid, uuid) == 0) return &state.devices[at];
    return NULL;
}

const Device *gpu_at(int index) {
    for (int at = 0; at < state.device_count; at++)
        if (state.devices[at].parent == NONE && state.devices[at].index == index) return &state.devices[at];
    return NULL;
}

const Device *mig_at(const Device *gpu, int slot) {
    for (int at = 0; at < state.device_count; at++)
        if (state.devices[at].parent == gpu - state.devices && state.devices[at].index == slot)
            return &state.devices[at];
    return NULL;
}
