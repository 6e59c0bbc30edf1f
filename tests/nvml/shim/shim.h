/* A test double of NVML: what its parts share. How it is driven: the docstring of ../state.py. */
#pragma once

#include <stdbool.h>

/* nvmlReturn_t, as far as the library itself decides; any other code can stand in the state file. */
enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    TIMED_OUT = 10,
    GPU_IS_LOST = 15,
    OUT_OF_MEMORY = 20
};

enum { MAX_DEVICES = 512, MAX_RULES = 512, MAX_FIELDS = 512, MAX_EVENTS = 512, TEXT = 96, NODE = -1, NONE = -1 };

/* A GPU, or a MIG device, which has a parent. */
typedef struct {
    char uuid[TEXT], name[TEXT], pci[32];
    int parent;                        /* its place among the devices; NONE for a GPU */
    int index;                         /* of a GPU: NVML's; of a MIG device: its slot */
    int mig_mode, mig_slots;           /* NONE: it knows no MIG */
    int gpu_instance, compute_instance, gpu_slices, compute_slices;
    int remapped[4];                   /* correctable, uncorrectable, pending, failure; NONE: not supported */
    long long events;                  /* the types that it supports; NONE: not supported */
    unsigned long long memory;         /* bytes */
} Device;

/* What a function does, instead of its work: for one device, or for the NODE. */
typedef struct {
    char function[TEXT]; /* `*`: every one */
    int owner;           /* a device's place, or NODE */
    bool hangs;
    int code;
} Rule;

typedef struct {
    int owner, id, code;
    unsigned long long value;
} Field;

typedef struct {
    unsigned long long sequence, type, data;
    char uuid[TEXT]; /* `-`: the library cannot tell */
    unsigned gpu_instance, compute_instance;
} Event;

typedef struct {
    char driver[TEXT], library[TEXT];
    int gpu_count, device_count, rule_count, field_count, event_count;
    Device devices[MAX_DEVICES];
    Rule rules[MAX_RULES];
    Field fields[MAX_FIELDS];
    Event events[MAX_EVENTS];
} State;

/* What nvmlDevice_t points to. It is never freed: a stale handle finds no device, and does no harm. */
typedef struct Handle {
    char uuid[TEXT];
    bool is_mig;
    struct Handle *next;
} Handle;

/* The state file, as this thread has read it last: at the beginning of each call, where the file has changed. */
extern _Thread_local State state;

/* A test double that is told nonsense, or cannot work, says so and ends the process: a test must not pass by it. */
_Noreturn void refuse(const char *what, const char *text);

void read_state(void);
const Device *device_of(const char *uuid);
const Device *gpu_at(int index);
const Device *mig_at(const Device *gpu, int slot);

/* The begin of every function: logs the call, reads the state, waits while it says so, and tells the code that the
   state wants; SUCCESS where the function shall do its work. */
int begin(const char *function);
int begin_before_init(const char *function);
int again(const char *function); /* as `begin`, in the middle of a long call */
int begin_for(const char *function, const Handle *handle, const Device **device);
int begin_for_uuid(const char *function, const char *uuid, const Device **device);

Handle *handle_of(const Device *device);
int copy_text(const char *from, char *to, unsigned size);
