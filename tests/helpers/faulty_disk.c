/* Preloaded into a server by tests: fsync and fdatasync wait while $FAULTS/hold exists, and fail with EIO
   while $FAULTS/fail exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int there(const char *name) {
  char path[4096];
  const char *folder = getenv("FAULTS");
  if (!folder) return 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static int flush(const char *symbol, int file) {
  while (there("hold")) usleep(5000);
  if (there("fail")) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, symbol);
  return real(file);
}

int fsync(int file) { return flush("fsync", file); }
int fdatasync(int file) { return flush("fdatasync", file); }
