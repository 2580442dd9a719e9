// The walks over the rows of a block; walks.py defines what they compute. All fields of the tables have eight bytes.
#if SINGLE
typedef float real;
#else
typedef double real;
#endif

enum { TWO_CLASSES, SEVERAL, TARGETS };
enum { PERCEPTRON, PA, OGD, SGD };
enum { HINGE, SQUARED_HINGE, LOGISTIC, SQUARED, ABSOLUTE, EPSILON_INSENSITIVE };

__device__ inline double sign(double v) { return (v > 0) - (v < 0); }
__device__ inline bool moderate(double v, double most) { return fabs(v) <= most; }  // false for NaN

// ---- filters: FEATURES features for each thread block, and WALK rows of a block of ROWS; blocks walk together

struct Filter {
  const real *V, *Z;
  real *F, *G, *U, *D, *variance;
  double* scores;
  long long *observed, *stopped;
  double* noise;
  real* partial;  // two rows in turn x blocks x (WALK + 1)
  const real* S;  // of a plain filter, WALK x WALK
  real *T, *R;
  long long m, full, outputs, labels, blocks, first_block;
  double prior, drift, largest, least, most, told, repair;
};

// Of what the lanes with classes have: the first 4, 8, 16 or 32 of a warp.
template <typename Join>
__device__ inline double joined(double v, int C, Join join) {
  for (int o = C > 16 ? 16 : C > 8 ? 8 : C > 4 ? 4 : 2; o > 0; o >>= 1) v = join(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

// e^x for x <= 0. Its terms are added in a tree, so that few of them wait for each other.
__device__ inline double exp_of(double x) {
  const double shifted = fma(fmax(x, -700.0), 1.4426950408889634, 6755399441055744.0), n = shifted - 6755399441055744.0;
  const double r = fma(n, -1.90821492927058770002e-10, fma(n, -6.93147180369123816490e-01, fmax(x, -700.0)));
  const double r2 = r * r, r4 = r2 * r2;
  const double a = fma(fma(1 / 6.0, r, 0.5), r2, 1 + r),
               b = fma(fma(1 / 5040.0, r, 1 / 720.0), r2, fma(1 / 120.0, r, 1 / 24.0));
  const double c = fma(fma(1 / 39916800.0, r, 1 / 3628800.0), r2, fma(1 / 362880.0, r, 1 / 40320.0));
  const double whole = fma(fma(1 / 479001600.0, r4, c), r4 * r4, fma(b, r4, a));
  return __hiloint2double(__double2hiint(whole) + (__double2loint(shifted) << 20), __double2loint(whole));
}

// 1 / x for x >= 1.
__device__ inline double inverse_of(double x) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  double e = fma(-x, r, 1.0);
  r = fma(r, fma(e, e, e), r);
  return fma(r, fma(-x, r, 1.0), r);
}

// What decides a row: numbers of a filter, which stay in registers.
struct Decider {
  int C;
  bool labels;
  double largest, most, told;
  __device__ explicit Decider(const Filter& e)
      : C((int)e.outputs), labels(e.labels != 0), largest(e.largest), most(e.most), told(e.told) {}
  // The classes of a lane are lane, lane + 32, ...; a single score is in every lane.
  __device__ int of_lane(int k) const { return C == 1 ? 0 : (int)(threadIdx.x & 31) + 32 * k; }

  // The step of a row with the scores f, whose variance is S: the factors d of g. The precision of the observation is
  // part / whole: with E = exp(-|f|), D = 1 + E it is c E / D^2; with D = sum exp(f_j - top) it is c (D - 1) / D^2. So
  // one division is enough. Returns 1 / (whole + part S). One warp.
  __device__ double step(const double (&f)[EACH], double (&d)[EACH], double y, double c, double S, double& part,
                         double& whole) const {
    if (!labels) {
      part = c, whole = 1;
      const double share = inverse_of(1 + c * S);
      d[0] = c * (y - f[0]) * share;
      return share;
    }
    if (C == 1) {
      const double E = exp_of(-fabs(f[0])), D = 1 + E;
      part = c * E, whole = D * D;
      const double share = inverse_of(fma(part, S, whole));
      d[0] = 2 * y * ((f[0] >= 0) == (y > 0) ? E : 1) * D * c * share;
      return share;
    }
    double top = -1e300, D = 0;
#pragma unroll
    for (int k = 0; k < EACH; ++k)
      if (of_lane(k) < C) top = fmax(top, f[k]);
    top = joined(top, C, [](double a, double b) { return fmax(a, b); });
#pragma unroll
    for (int k = 0; k < EACH; ++k) D += d[k] = of_lane(k) < C ? exp_of(f[k] - top) : 0;
    D = joined(D, C, [](double a, double b) { return a + b; });
    part = c * (D - 1), whole = D * D;
    const double share = inverse_of(fma(part, S, whole));
#pragma unroll
    for (int k = 0; k < EACH; ++k) d[k] = ((of_lane(k) == (int)y ? D : 0) - d[k]) * (D * c * share);
    return share;
  }

  // One row: its step goes into d, and into `square` what P loses along g. `much` says whether that was much. Returns
  // whether the row can be learned. One warp.
  __device__ bool learn(const double (&f)[EACH], double (&d)[EACH], double y, double weight, double S, double& square,
                        bool& much, double& noise, double& seen) const {
    bool fine = true;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
      d[k] = 0;
      if (of_lane(k) < C) fine = fine && moderate(f[k], largest);
    }
    if (C > 1) fine = __all_sync(~0u, fine);
    square = 0, much = false;
    if (!fine || weight == 0) return fine;
    double part, whole;
    square = step(f, d, y, weight, S, part, whole) * part;
    if (part * S > most * whole) square = most / (S * (1 + most));
    much = part * S > told * whole;
    if (!labels) {
      seen += weight;
      const double error = y - f[0];
      noise += weight / seen * (error * error / (1 + S) - noise);
    }
    return true;
  }
};

// The scores of a row go out; that of a label is moderated by what is not known yet. One warp.
__device__ void write_scores(const Filter& e, const double* now, double S, long long row) {
  const double moderation = e.labels ? rsqrt(1 + 0.39269908169872415481 * S) : 1;
  for (int c = threadIdx.x & 31; c < (int)e.outputs; c += 32) e.scores[row * e.outputs + c] = now[c] * moderation;
}

// Sums of 32 columns over the lanes of a warp; lane l gets that of column l.
template <int N>
__device__ inline real summed(real (&q)[N]) {
  constexpr int M = N / 2;
  const bool upper = (threadIdx.x & M) != 0;
  real sums[M];
#pragma unroll
  for (int j = 0; j < M; ++j) {
    const real give = upper ? q[j] : q[j + M], keep = upper ? q[j + M] : q[j];
    sums[j] = keep + __shfl_xor_sync(~0u, give, M);
  }
  if constexpr (M == 1)
    return sums[0];
  else
    return summed(sums);
}

// Waits until all blocks of an expert have come here so many times; what they wrote before can then be read.
__device__ inline void meet(unsigned* arrived, unsigned times) {
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
    unsigned now;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
    while (now < times);
  }
  __syncthreads();
}

// Rows first + begin .. of the run, which are the columns begin .. of the block, at most WALK.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    walk_filters(const Filter* filters, const int* owners, unsigned* arrived, const double* y, const double* weights,
                 const long long* first_row, int begin, int rows) {
  const long long first = *first_row;
  constexpr int columns = WALK * FEATURES / THREADS, warps = FEATURES / 32, groups = 3;
  static_assert(columns == 32 && WALK == 64, "a warp sums 32 columns; two threads have the rows of a feature");
  static_assert(groups * (WALK + 1) <= THREADS, "each thread sums one column over a third of the blocks");
  const int number = owners[blockIdx.x];
  const int t = threadIdx.x, k = t % FEATURES, half = t / FEATURES, warp = k / 32, lane = t & 31;

  extern __shared__ double f[];  // outputs x WALK scores, then those of a row, and the factors of its step
  __shared__ Filter e;
  __shared__ real parts[warps][WALK], diagonal[warps], g_of[FEATURES], grouped[groups][WALK + 1], s[WALK + 1];
  __shared__ double told[3], label[WALK], weight_of[WALK];  // S, square, much
  __shared__ int halted;
  if (t == 0) {
    e = filters[number];
    halted = *e.stopped >= 0;
  }
  if (t < WALK) {
    label[t] = t < rows ? y[first + begin + t] : 0;
    weight_of[t] = t < rows ? weights[first + begin + t] : 0;
  }
  __syncthreads();
  const int block = blockIdx.x - (int)e.first_block, blocks = (int)e.blocks, C = (int)e.outputs;
  const long long at = (long long)block * FEATURES + k, m = e.m, full = e.full;
  const bool mine = at < m, in_full = at < full;
  double *const now = f + C * WALK, *const d = now + C;
  real *const G = e.G + begin * m + at, *const U = e.U + begin * full + at;

  real v[columns], z[columns];
#pragma unroll
  for (int j = 0; j < columns; ++j) {
    const long long place = at * ROWS + begin + half * columns + j;
    z[j] = mine ? e.Z[place] : (real)0;
    v[j] = in_full ? e.V[place] : (real)0;
  }
  for (int q = t; q < C * WALK; q += THREADS) f[q] = e.F[q / WALK * ROWS + begin + q % WALK];
  real variance = mine ? e.variance[at] : (real)0;
  const real before = in_full ? variance : (real)0, drift = (real)e.drift, prior = (real)e.prior;
  real taken = 0;  // of the diagonal of P, by these rows
  long long observed = *e.observed;
  double noise = e.noise[0], seen = e.noise[1];
  __syncthreads();

  int i = 0;
  for (; i < rows; ++i) {
    if (halted) break;
    const int own = i - half * columns;  // the column of this row, if this half has it
    if (own >= 0 && own < columns) {
      real zi = 0, vi = 0;
#pragma unroll
      for (int j = 0; j < columns; ++j)
        if (j == own) zi = z[j], vi = v[j];
      g_of[k] = in_full ? vi + (variance - (before - taken)) * zi : variance * zi;
      real share = in_full ? variance * zi * zi : (real)0;
      for (int o = 16; o > 0; o >>= 1) share += __shfl_xor_sync(~0u, share, o);
      if (lane == 0) diagonal[warp] = share;
    }
    __syncthreads();
    const real g = g_of[k];
    {
      real q[32];
#pragma unroll
      for (int j = 0; j < columns; ++j) q[j] = g * z[j];
      parts[warp][half * columns + lane] = summed(q);
    }
    __syncthreads();
    if (t <= WALK) {
      real sum = 0;
#pragma unroll
      for (int w = 0; w < warps; ++w) sum += t < WALK ? parts[w][t] : diagonal[w];
      if (blocks == 1)
        s[t] = sum;
      else
        e.partial[((i & 1) * blocks + block) * (WALK + 1) + t] = sum;
    }
    if (blocks > 1) {
      meet(arrived + number, (unsigned)(blocks * (i + 1)));
      if (t < groups * (WALK + 1)) {
        const int column = t % (WALK + 1), group = t / (WALK + 1);
        const real* const from = e.partial + (long long)(i & 1) * blocks * (WALK + 1) + column;
        real sum = 0;
#pragma unroll 12
        for (int b = group; b < blocks; b += groups) sum += __ldcg(from + b * (WALK + 1));
        grouped[group][column] = sum;
      }
      __syncthreads();
      if (t <= WALK) s[t] = (grouped[0][t] + grouped[1][t]) + grouped[2][t];
    }
    __syncthreads();
    const double weight = weight_of[i];
    if (t < 32) {
      const Decider decider(e);
      const double S = fmax((double)s[i], e.least * (double)s[WALK]);
      double scores[EACH], factors[EACH], square;
      bool much;
#pragma unroll
      for (int n = 0; n < EACH; ++n) {
        const int c = decider.of_lane(n);
        scores[n] = c < C ? f[c * WALK + i] : 0;
        if (c < C) now[c] = scores[n];
      }
      const bool fine = decider.learn(scores, factors, label[i], weight, S, square, much, noise, seen);
#pragma unroll
      for (int n = 0; n < EACH; ++n)
        if (decider.of_lane(n) < C) d[decider.of_lane(n)] = factors[n];
      if (lane == 0) {
        told[0] = S, told[1] = square, told[2] = much;
        halted = !fine;
        if (!fine && block == 0) *e.stopped = first + begin + i;
      }
    }
    __syncthreads();
    if (halted) break;
    if (block == 0 && t >= 32 && t < 64) write_scores(e, now, told[0], first + begin + i);
    real u = 0;
    if (weight != 0) {
      const double root = sqrt(told[1]);
      const real cap = sqrt(variance);
      u = (real)root * g;
      u = u > cap ? cap : u < -cap ? -cap : u;
      const real square = u * u;
      variance = fmin(fmax(variance - square + drift, (real)0), prior);
      taken += in_full ? square : (real)0;
      if (in_full) {
        const real factor = u * (real)root;
#pragma unroll
        for (int j = 0; j < columns; ++j) v[j] -= factor * s[half * columns + j];
      }
      for (int q = t; q < C * WALK; q += THREADS) {
        const int j = q % WALK;
        if (j > i) f[q] += d[q / WALK] * (double)s[j];
      }
      ++observed;
      if ((observed % 1024 == 0 || told[2] != 0) && in_full) variance = fmin(variance * (real)e.repair, prior);
    }
    if (half == 0 && mine) {
      G[i * m] = weight != 0 ? g : (real)0;
      if (in_full) U[i * full] = u;
    }
    if (block == 0)
      for (int c = t; c < C; c += THREADS) e.D[c * ROWS + begin + i] = weight != 0 ? (real)d[c] : (real)0;
    __syncthreads();
  }
  for (; i < WALK; ++i) {
    if (half == 0 && mine) {
      G[i * m] = 0;
      if (in_full) U[i * full] = 0;
    }
    if (block == 0)
      for (int c = t; c < C; c += THREADS) e.D[c * ROWS + begin + i] = 0;
  }
  if (half == 0 && mine) e.variance[at] = variance;
  // Another block may not have read these yet, if no row has made it wait for this one; then they have not changed.
  if (block == 0 && t == 0 && observed != *e.observed) {
    *e.observed = observed;
    e.noise[0] = noise, e.noise[1] = seen;
  }
}

// All threads of a walk meet here, wherever they come from.
template <int Threads>
__device__ inline void meet_block() {
  __syncwarp();
  asm volatile("barrier.sync.aligned 1, %0;" ::"n"(Threads) : "memory");
}

// Plain filters have all of P and no drift. Their walk needs S = Z P Z' and the scores alone, and one thread block; the
// gains are then G = T V', and what P loses U = R V'. T is found by the elimination that S goes through. The first warp
// decides one row after the other. Meanwhile the others do what the last decision means for the rows behind the next
// one, which the first warp brings up to date by itself. They keep S and T in registers: 256 threads each, one column
// of 16 rows.
extern "C" __global__ void __launch_bounds__(PLAIN, 1)
    walk_plain(const Filter* filters, const double* y, const double* weights, const long long* first_row, int begin,
               int rows) {
  constexpr int strips = WALK / 8, workers = PLAIN - 32;
  static_assert(WALK == 64 && workers == 512, "of 8 rows, two belong to a thread");
  const long long first = *first_row;
  extern __shared__ double f[];  // outputs x WALK scores; those of a row, and its step, of two rows in turn
  __shared__ Filter e;
  __shared__ __align__(16) real row[2][2][WALK];  // in turn: a row of S behind the diagonal, 0 before it; a row of T
  __shared__ real ahead[2];                       // in turn: the diagonal of S one row further
  __shared__ double variance[2], label[WALK], weight_of[WALK], squares[WALK];
  __shared__ int halted[2];
  const int t = threadIdx.x, lane = t % 32;
  if (t == 0) {
    e = filters[blockIdx.x];
    halted[0] = *e.stopped >= 0;
  }
  if (t < WALK) {
    label[t] = t < rows ? y[first + begin + t] : 0;
    weight_of[t] = t < rows ? weights[first + begin + t] : 0;
    squares[t] = 0;
  }
  __syncthreads();
  const int C = (int)e.outputs, last = halted[0] ? 0 : rows;
  double *const now = f + C * WALK, *const steps = now + 2 * C;
  for (int q = t; q < C * WALK; q += PLAIN) {
    f[q] = e.F[q / WALK * ROWS + begin + q % WALK];
    e.D[q / WALK * ROWS + begin + q % WALK] = 0;
  }

  const int w = t - 32, matrix = w / 256, quarter = w % 256 / WALK,
            column = w % WALK;  // of a thread behind the first warp
  real own[strips][2];          // rows 8 strip + 2 quarter, and the next
  if (t >= 32) {
#pragma unroll
    for (int q = 0; q < 2 * strips; ++q) {
      const int i = 8 * (q / 2) + 2 * quarter + q % 2;
      own[q / 2][q % 2] = matrix == 0 ? e.S[i * WALK + column] : (real)(i == column);
    }
    if (quarter == 0) {
      row[0][matrix][column] = matrix == 1 || column > 0 ? own[0][0] : (real)0;
      if (matrix == 0 && column == 1) ahead[0] = own[0][1];
    }
  }
  long long observed = e.observed[0], repairs = e.observed[1];  // P is repaired behind the block
  double noise = e.noise[0], seen = e.noise[1];
  __syncthreads();

  if (t < 32) {
    const Decider decider(e);
    double S = fmax((double)e.S[0], 0.0), square, scores[EACH], factors[EACH];
    bool much;
#pragma unroll
    for (int n = 0; n < EACH; ++n) scores[n] = decider.of_lane(n) < C ? f[decider.of_lane(n) * WALK] : 0;
    for (int i = 0; i < last; ++i) {
      const int turn = i & 1;
      const bool fine = decider.learn(scores, factors, label[i], weight_of[i], S, square, much, noise, seen);
#pragma unroll
      for (int n = 0; n < EACH; ++n) {
        const int c = decider.of_lane(n);
        if (c < C) now[turn * C + c] = scores[n], steps[turn * C + c] = factors[n];
      }
      if (lane == 0) {
        variance[turn] = S, squares[i] = square, halted[turn] = !fine;
        if (!fine) *e.stopped = first + begin + i;
      }
      meet_block<PLAIN>();
      if (!fine) break;
      observed += weight_of[i] != 0;
      repairs += weight_of[i] != 0 && (observed % 1024 == 0 || much);
      if (i + 1 == last) break;
      const real next = row[turn][0][i + 1];
      S = fmax((double)(ahead[turn] - (real)square * next * next), 0.0);
#pragma unroll
      for (int n = 0; n < EACH; ++n)
        if (decider.of_lane(n) < C) scores[n] = f[decider.of_lane(n) * WALK + i + 1] + factors[n] * (double)next;
    }
  } else {
    bool going = true;
#pragma unroll
    for (int strip = 0; strip < strips; ++strip) {
      for (int i = 8 * strip; going && i < min(last, 8 * strip + 8); ++i) {
        const int turn = i & 1;
        meet_block<PLAIN>();
        going = !halted[turn];
        if (!going) break;
        const real factor = (real)squares[i] * row[turn][matrix][column];
#pragma unroll
        for (int q = 2 * strip; q < 2 * strips; ++q) {
          const int k = 8 * (q / 2) + 2 * quarter + q % 2;
          real& mine = own[q / 2][q % 2];
          mine -= factor * row[turn][0][k];
          if (q / 2 <= strip + 1) {
            if (k == i + 1) row[1 - turn][matrix][column] = matrix == 1 || column > k ? mine : (real)0;
            if (k == i + 2 && matrix == 0 && column == k) ahead[1 - turn] = mine;
          }
        }
        const double* const d = steps + turn * C;
        if (weight_of[i] != 0) {
          for (int q = w; q < C * WALK; q += workers)
            if (q % WALK > i + 1) f[q] += d[q / WALK] * (double)row[turn][0][q % WALK];
          for (int c = w; c < C; c += workers) e.D[c * ROWS + begin + i] = (real)d[c];
        }
        if (w < 32) write_scores(e, now + turn * C, variance[turn], first + begin + i);
      }
    }
    if (matrix == 1) {
#pragma unroll
      for (int q = 0; q < 2 * strips; ++q) {
        const int i = 8 * (q / 2) + 2 * quarter + q % 2;
        e.T[i * WALK + column] = own[q / 2][q % 2];
        e.R[i * WALK + column] = (real)sqrt(squares[i]) * own[q / 2][q % 2];
      }
    }
  }
  if (t == 0) {
    e.observed[0] = observed, e.observed[1] = repairs;
    e.noise[0] = noise, e.noise[1] = seen;
  }
}

// ---- steps along z: one thread block for each learner

struct Rule {
  const real* G;
  real *F, *A;
  const double* kxx;
  double *state, *norm2, *total;
  double* scores;
  long long* stopped;
  long long outputs, kind, loss, task;
  double size, shrink, tube, epsilon, ball, largest, largest_square;
};

__device__ inline double clear(double loss, double scale) { return loss > 1e-12 * fmax(1.0, scale) ? loss : 0; }

__device__ double slope(const Rule& e, double f, double y) {
  switch (e.loss) {
    case HINGE:
      return y * f < 1 ? -y : 0;
    case SQUARED_HINGE:
      return -y * fmax(0.0, 1 - y * f);
    case LOGISTIC:
      return -y / (1 + exp(y * f));
    case SQUARED:
      return f - y;
    case ABSOLUTE:
      return sign(f - y);
    default:
      return fabs(f - y) > e.epsilon ? sign(f - y) : 0;
  }
}

__device__ double beta_of(const Rule& e, double f, double y, double kxx, bool mistake, double weight) {
  const double error = y - f;
  const bool labels = e.task != TARGETS;
  switch (e.kind) {
    case PERCEPTRON:
      if (labels) return mistake ? weight * e.size * y : 0;
      return fabs(error) > e.tube ? weight * e.size * sign(error) : 0;
    case PA: {
      if (!(kxx > 0)) return 0;
      const double loss = labels ? clear(1 - y * f, fabs(f)) : clear(fabs(error) - e.tube, fabs(y));
      return (labels ? y : sign(error)) * fmin(weight * e.size, loss / kxx);
    }
    case OGD:
      if (fabs(error) <= e.tube) return 0;
      return -weight * e.size * slope(e, f, y);
    default:
      return -weight * e.size * slope(e, f, y);
  }
}

// What is decided of a row: the step, the classes that it adds to and takes from (-1 for none; -1 for `plus` of a row
// that cannot be learned), by how much w is pulled back behind it, and what its scores are multiplied by.
struct __align__(16) Step {
  double beta;
  int plus, minus;
  double pull, part;
};

// What decides a row: numbers of a learner, which stay in registers. One warp; its lanes have the classes lane,
// lane + 32, ..., and a single score is in every lane.
struct Chooser {
  const Rule e;
  const int C, lane;
  double round, divisor, y_max, norm2, part;
  __device__ explicit Chooser(const Rule& rule)
      : e(rule),
        C((int)rule.outputs),
        lane(threadIdx.x & 31),
        round(rule.state[0]),
        divisor(rule.state[1]),
        y_max(rule.state[2]),
        norm2(*rule.norm2),
        part(1 / divisor) {}
  __device__ int of_lane(int k) const { return (C == 1 ? 0 : lane) + 32 * k; }
  __device__ real of_class(const real (&F)[EACH], int c) const {
    real found = F[0];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
      if (k == c / 32) found = __shfl_sync(~0u, F[k], c & 31);
    return found;
  }

  // Row i, with its scores F, times `part`; z'z of its features is zz, and kxx as the rule counts it.
  __device__ Step step(const real (&F)[EACH], double y, double weight, double kxx, double zz) {
    Step found{0, 0, -1, 1, part};
    double f = (double)F[0] * part;
    bool mistake, fine = moderate(f, e.largest) || (C > 1 && lane >= C);
    if (e.task == SEVERAL) {
      found.plus = (int)y;
      double best = -1e300, others[EACH];
#pragma unroll
      for (int k = 0; k < EACH; ++k) {
        const int c = lane + 32 * k;
        const double score = (double)F[k] * part;
        if (k > 0) fine = fine && (c >= C || moderate(score, e.largest));
        others[k] = c < C && c != found.plus ? score : -1e300;
        best = fmax(best, others[k]);
      }
      fine = __all_sync(~0u, fine);
      best = joined(best, C, [](double a, double b) { return a > b ? a : b; });
      best = __shfl_sync(~0u, best, 0);
#pragma unroll
      for (int k = EACH - 1; k >= 0; --k)
        if (const unsigned has = __ballot_sync(~0u, others[k] == best)) found.minus = 32 * k + __ffs((int)has) - 1;
      f = (double)of_class(F, found.plus) * part;
      mistake = best > f || (best == f && found.minus < found.plus);
      f -= best, y = 1, kxx *= 2;
    } else {
      mistake = e.task == TWO_CLASSES ? (f >= 0 ? 1.0 : -1.0) != y : f != y;
    }
    const double beta = fine && weight != 0 ? beta_of(e, f, y, kxx, mistake, weight) : 0;
    if (!fine || !moderate(beta, e.largest) || !moderate(beta * beta * kxx, e.largest_square)) {
      found.plus = -1;
      return found;
    }
    found.beta = beta;
    if (weight == 0) return found;
    ++round;
    if (e.kind == SGD) divisor = round, part = 1 / round;
    if (e.ball > 0) {
      y_max = fmax(y_max, fabs(y));
      if (beta != 0) pull(F, found, zz);
    }
    return found;
  }

  // Pull w back into its ball behind a step.
  __device__ void pull(const real (&F)[EACH], Step& step, double zz) {
    const double beta = step.beta;
    norm2 += 2 * beta * (double)of_class(F, step.plus) + beta * beta * zz;
    if (step.minus >= 0) norm2 += -2 * beta * (double)of_class(F, step.minus) + beta * beta * zz;
    const double norm = sqrt(fmax(norm2, 0.0)) * part, radius = y_max * e.ball;
    if (norm > radius) step.pull = radius / norm, norm2 *= step.pull * step.pull;
  }
};

// What a step makes of a score that is `product` away.
__device__ inline real stepped(real F, int c, const Step& step, real product, double shrink) {
  const double v = c == step.plus ? step.beta : c == step.minus ? -step.beta : 0;
  if (shrink != 1 || step.pull != 1) return (real)(((double)F * shrink + v * (double)product) * step.pull);
  return F + (real)v * product;
}

// The first warp decides one row after the other. Meanwhile the others, one thread for each row, do what the last step
// means for the rows behind the next one, which the first warp brings up to date by itself.
extern "C" __global__ void __launch_bounds__(32 + ROWS, 1)
    walk_rules(const Rule* rules, const double* labels, const double* weights, const long long* first_row, int rows,
               int inside) {
  constexpr int ahead = 4;                                      // rows of G are read so long before they are needed
  extern __shared__ __align__(16) unsigned char scores_here[];  // outputs x ROWS, if they fit
  __shared__ Step steps[ROWS];
  __shared__ double label[ROWS], weight_of[ROWS], squared[ROWS], after[ROWS];
  __shared__ real own[ROWS], next[ROWS];  // of G: of a row and itself, and of a row and the next
  const long long first = *first_row;
  const Rule& e = rules[blockIdx.x];
  const int t = threadIdx.x, j = t - 32, C = (int)e.outputs;
  const double shrink = e.shrink;
  real* const F = inside ? (real*)scores_here : e.F;
  if (j >= 0) {
    if (inside)
      for (int c = 0; c < C; ++c) F[c * ROWS + j] = e.F[c * ROWS + j];
    label[j] = j < rows ? labels[first + j] : 0;
    weight_of[j] = j < rows ? weights[first + j] : 0;
    squared[j] = e.kxx[j];
    own[j] = e.G[j * ROWS + j], next[j] = j + 1 < ROWS ? e.G[j * ROWS + j + 1] : (real)0;
    steps[j] = Step{0, -1, -1, 1, 0};
  }
  const bool halted = *e.stopped >= 0;
  const int last = halted ? 0 : rows;
  __syncthreads();

  if (t < 32) {
    Chooser chooser(e);
    real f[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) f[k] = chooser.of_lane(k) < C ? F[chooser.of_lane(k) * ROWS] : (real)0;
    for (int i = 0; i < last; ++i) {
      const Step step = chooser.step(f, label[i], weight_of[i], squared[i], (double)own[i]);
      if (t == 0) steps[i] = step;
      meet_block<32 + ROWS>();
      if (step.plus < 0) {
        if (t == 0) *e.stopped = first + i;
        break;
      }
      if (i + 1 == last) break;
#pragma unroll
      for (int k = 0; k < EACH; ++k)
        if (const int c = chooser.of_lane(k); c < C) {
          f[k] = F[c * ROWS + i + 1];
          if (weight_of[i] != 0) f[k] = stepped(f[k], c, step, next[i], shrink);
        }
      __syncwarp();  // a single score has been read by every lane
#pragma unroll
      for (int k = 0; k < EACH; ++k)
        if (const int c = chooser.of_lane(k); c < C && (C > 1 || t == 0)) F[c * ROWS + i + 1] = f[k];
    }
    if (t == 0) e.state[0] = chooser.round, e.state[1] = chooser.divisor, e.state[2] = chooser.y_max;
  } else {
    real coming[ahead];
    bool going = true;
#pragma unroll
    for (int k = 0; k < ahead; ++k) coming[k] = e.G[k * ROWS + j];
    for (int strip = 0; going && strip < last; strip += ahead) {
#pragma unroll
      for (int k = 0; k < ahead; ++k) {
        const int i = strip + k;
        if (!going || i >= last) break;
        const real product = coming[k];
        if (i + ahead < last) coming[k] = e.G[(i + ahead) * ROWS + j];
        meet_block<32 + ROWS>();
        const Step step = steps[i];
        going = step.plus >= 0;
        if (!going || j <= i + 1 || weight_of[i] == 0) continue;
        if (shrink != 1 || step.pull != 1) {
          for (int c = 0; c < C; ++c) F[c * ROWS + j] = stepped(F[c * ROWS + j], c, step, product, shrink);
        } else if (step.beta != 0) {
          const real much = (real)step.beta * product;
          F[step.plus * ROWS + j] += much;
          if (step.minus >= 0) F[step.minus * ROWS + j] -= much;
        }
      }
    }
  }
  __syncthreads();
  if (t == 0) {
    double total = 1;
    for (int i = ROWS - 1; i >= 0; --i) {
      after[i] = total * steps[i].pull;
      total = after[i] * (steps[i].plus >= 0 && weight_of[i] != 0 ? shrink : 1);
    }
    *e.total = total;
  }
  __syncthreads();
  if (j < 0) return;
  const Step step = steps[j];
  for (int c = 0; c < C; ++c) {
    if (step.plus >= 0) e.scores[(first + j) * C + c] = (double)F[c * ROWS + j] * step.part;
    const double v = c == step.plus ? step.beta : c == step.minus ? -step.beta : 0;
    e.A[c * ROWS + j] = (real)(v * after[j]);
  }
}
