/* A machine with two devices that are always 37 % busy, as far as the library that is asked can tell. */
#include <string.h>

typedef struct { int number; } *Device;
static struct { int number; } devices[2] = {{0}, {1}};

int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned int flags) { return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "no error"; }

int nvmlDeviceGetCount_v2(unsigned int *count) {
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device *device) {
    if (index > 1) return 2;
    *device = (Device)&devices[index];
    return 0;
}

int nvmlDeviceGetName(Device device, char *name, unsigned int length) {
    strncpy(name, "Tesla T4", length);
    return 0;
}

int nvmlDeviceGetUtilizationRates(Device device, unsigned int rates[2]) {
    rates[0] = 37;
    rates[1] = 20;
    return 0;
}

struct memory {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(Device device, struct memory *memory) {
    memory->total = 16000000000ULL;
    memory->reserved = 0;
    memory->free = 13000000000ULL;
    memory->used = 3000000000ULL;
    return 0;
}
