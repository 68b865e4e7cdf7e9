// The bound: how fast a thread multiplies and adds 32-bit floats that never leave registers, all threads at once.
//
//   registers THREADS       prints {"GFLOP/s": of all threads}
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
enum { width = 64 };
#elif defined(__AVX__)
enum { width = 32 };
#else
enum { width = 16 };
#endif
typedef float lane __attribute__((vector_size(width)));
enum { chains = 12, turns = 40000000 };

static volatile float one = 1, tiny = 1e-9f;
static float sink[64];

static void *spin(void *at) {
  lane sum[chains], a = (lane){0} + one, b = (lane){0} + tiny;
  for (int i = 0; i < chains; i++) sum[i] = (lane){0} + one * (i + 1);  // unlike, or compilers make them one
  for (long n = 0; n < turns; n++) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; i++) sum[i] = sum[i] * a + b;  // each waits for itself alone
  }
  for (int i = 1; i < chains; i++) sum[0] += sum[i];
  *(float *)at = sum[0][0];
  return 0;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 1;
  pthread_t all[64];
  struct timespec a, b;
  if (threads < 1 || threads > 64) return 2;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < threads; i++) pthread_create(&all[i], 0, spin, &sink[i]);
  for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
  clock_gettime(CLOCK_MONOTONIC, &b);
  double took = b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec);
  if (!(sink[0] > 0)) return fprintf(stderr, "nothing was added\n"), 1;
  printf("{\"GFLOP/s\": %g}\n", 2e-9 * turns * chains * (width / 4) * threads / took);
  return 0;
}
