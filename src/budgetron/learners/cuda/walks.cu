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

// The step of a row from its scores f: the factors d of g, and the precision of the observation. One warp.
__device__ double step(const Filter& e, const double* f, double* d, double y, double c, double S, double& noise,
                       double& seen) {
  const int lane = threadIdx.x & 31, C = (int)e.outputs;
  if (!e.labels) {
    const double error = y - f[0];
    seen += c;
    noise += c / seen * (error * error / (1 + S) - noise);
    if (lane == 0) d[0] = c * error / (1 + c * S);
    return c;
  }
  if (C == 1) {
    const double p = 1 / (1 + exp(-f[0])), h = p * (1 - p);
    if (lane == 0) d[0] = 2 * c * ((y + 1) / 2 - p) / (1 + c * h * S);
    return c * h;
  }
  double top = -1e300, sum = 0;
  for (int j = lane; j < C; j += 32) top = fmax(top, f[j]);
  for (int o = 16; o > 0; o >>= 1) top = fmax(top, __shfl_xor_sync(~0u, top, o));
  for (int j = lane; j < C; j += 32) sum += d[j] = exp(f[j] - top);
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  const double most = 1 / sum, h = most * (1 - most), factor = c / (1 + c * h * S);  // exp(0) is the largest
  for (int j = lane; j < C; j += 32) d[j] = ((j == (int)y) - d[j] * most) * factor;
  return c * h;
}

// The scores of a row go out; that of a label is moderated by what is not known yet. One warp.
__device__ void write_scores(const Filter& e, const double* now, double S, long long row) {
  const double moderation = e.labels ? rsqrt(1 + 0.39269908169872415481 * S) : 1;
  for (int c = threadIdx.x & 31; c < (int)e.outputs; c += 32) e.scores[row * e.outputs + c] = now[c] * moderation;
}

// One row with the scores f: its step goes into d, and into `told` S, the root of what P loses along g, the precision.
// Returns whether the row can be learned. One warp.
__device__ bool learn_row(const Filter& e, const double* f, double* d, double S, double y, double weight,
                          long long row, bool writes, double& noise, double& seen, double* told) {
  const int lane = threadIdx.x & 31;
  bool fine = true;
  for (int c = lane; c < (int)e.outputs; c += 32) fine = fine && moderate(f[c], e.largest);
  fine = __all_sync(~0u, fine);
  double precision = 0, root = 0;
  if (fine && weight != 0) {
    precision = step(e, f, d, y, weight, S, noise, seen);
    if (precision * S > e.most) precision = e.most / S;
    root = sqrt(precision / (1 + precision * S));
  }
  if (lane == 0) {
    told[0] = S, told[1] = root, told[2] = precision;
    if (!fine && writes) *e.stopped = row;
  }
  return fine;
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
  __shared__ double told[3], label[WALK], weight_of[WALK];  // S, root, precision
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
      const double S = fmax((double)s[i], e.least * (double)s[WALK]);
      for (int c = lane; c < C; c += 32) now[c] = f[c * WALK + i];
      __syncwarp();
      const bool fine =
          learn_row(e, now, d, S, label[i], weight, first + begin + i, block == 0, noise, seen, told);
      if (lane == 0) halted = !fine;
    }
    __syncthreads();
    if (halted) break;
    if (block == 0 && t >= 32 && t < 64) write_scores(e, now, told[0], first + begin + i);
    real u = 0;
    if (weight != 0) {
      const double root = told[1];
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
      if ((observed % 1024 == 0 || told[2] * told[0] > e.told) && in_full)
        variance = fmin(variance * (real)e.repair, prior);
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

// Plain filters have all of P and no drift. Their walk needs S = Z P Z' and the scores alone, and one thread block; the
// gains are then G = T V', and what P loses U = R V'.
extern "C" __global__ void __launch_bounds__(THREADS)
    walk_plain(const Filter* filters, const double* y, const double* weights, const long long* first_row,
               int begin, int rows) {
  const long long first = *first_row;
  constexpr int wide = WALK + 1;
  extern __shared__ double f[];  // outputs x WALK scores, those of two rows in turn, their steps in turn; then S and T
  __shared__ Filter e;
  __shared__ double told[2][3], label[WALK], weight_of[WALK], squares[WALK], roots[WALK];
  __shared__ int halted[2];  // in turn, too
  const int t = threadIdx.x, lane = t & 31;
  if (t == 0) {
    e = filters[blockIdx.x];
    halted[0] = *e.stopped >= 0;
  }
  if (t < WALK) {
    label[t] = t < rows ? y[first + begin + t] : 0;
    weight_of[t] = t < rows ? weights[first + begin + t] : 0;
    roots[t] = squares[t] = 0;
  }
  __syncthreads();
  const int C = (int)e.outputs;
  double *const now = f + C * WALK, *const steps = now + 2 * C;
  real *const s = (real*)(steps + 2 * C), *const T = s + WALK * wide;
  for (int q = t; q < C * WALK; q += THREADS) {
    f[q] = e.F[q / WALK * ROWS + begin + q % WALK];
    e.D[q / WALK * ROWS + begin + q % WALK] = 0;
  }
  for (int q = t; q < WALK * WALK; q += THREADS) {
    s[q / WALK * wide + q % WALK] = e.S[q];
    T[q / WALK * wide + q % WALK] = q == 0 ? 1 : 0;
  }
  long long observed = e.observed[0], repairs = e.observed[1];  // P is repaired behind the block
  double noise = e.noise[0], seen = e.noise[1];
  __syncthreads();
  // The first warp decides one row after the other. Meanwhile the others do what the last decision means for the rows
  // behind the next one, which the first warp has brought up to date by itself.
  double S = fmax((double)s[0], 0.0);
  if (t < 32)
    for (int c = lane; c < C; c += 32) now[c] = f[c * WALK];
  const int last = halted[0] ? 0 : rows;
  __syncthreads();
  for (int i = 0; i < last; ++i) {
    const int turn = i & 1;
    const double weight = weight_of[i];
    double *const d = steps + turn * C, *const scores = now + turn * C;
    if (t < 32) {
      __syncwarp();
      const bool fine = learn_row(e, scores, d, S, label[i], weight, first + begin + i, true, noise, seen, told[turn]);
      if (t == 0) {
        halted[turn] = !fine;
        roots[i] = fine && weight != 0 ? told[turn][1] : 0;
        squares[i] = roots[i] * roots[i];
      }
    }
    __syncthreads();
    if (halted[turn]) break;
    const real* const own = s + i * wide;
    const real square = (real)squares[i];
    const bool steps_now = weight != 0;
    observed += steps_now;
    repairs += steps_now && (observed % 1024 == 0 || told[turn][2] * told[turn][0] > e.told);
    if (t < 32) {
      if (i + 1 < rows) {
        const real next = own[i + 1];
        S = fmax((double)(s[(i + 1) * wide + i + 1] - square * next * next), 0.0);
        for (int c = lane; c < C; c += 32)
          now[(1 - turn) * C + c] = f[c * WALK + i + 1] + (steps_now ? d[c] * (double)next : 0);
      }
    } else if (t >= THREADS - WALK) {  // row i + 1 of T is its e less the rows before, as its gain has lost to theirs
      const int column = t - (THREADS - WALK), row = i + 1;
      if (row < WALK && column <= row) {
        real sum = column == row ? 1 : 0;
#pragma unroll 4
        for (int k = column; k < row; ++k) sum -= (real)squares[k] * s[k * wide + row] * T[column * wide + k];
        T[column * wide + row] = sum;
      }
    } else {
      if (t < 64) write_scores(e, scores, told[turn][0], first + begin + i);
      constexpr int others = THREADS - WALK - 32;
      if (steps_now) {
        const int j = (t - 32) % WALK;
        for (int q = i + 1 + (t - 32) / WALK; q < WALK; q += others / WALK)
          if (j >= q && j > i + 1 && (t - 32) < others / WALK * WALK) s[q * wide + j] -= square * own[q] * own[j];
        for (int q = t - 32; q < C * WALK; q += others) {
          const int k = q % WALK;
          if (k > i + 1) f[q] += d[q / WALK] * (double)own[k];
        }
        for (int c = t - 32; c < C; c += others) e.D[c * ROWS + begin + i] = (real)d[c];
      }
    }
  }
  __syncthreads();
  for (int q = t; q < WALK * WALK; q += THREADS) {
    const int i = q / WALK, k = q % WALK;
    const real v = k <= i ? T[k * wide + i] : (real)0;
    e.T[q] = v;
    e.R[q] = (real)roots[i] * v;
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
    case HINGE: return y * f < 1 ? -y : 0;
    case SQUARED_HINGE: return -y * fmax(0.0, 1 - y * f);
    case LOGISTIC: return -y / (1 + exp(y * f));
    case SQUARED: return f - y;
    case ABSOLUTE: return sign(f - y);
    default: return fabs(f - y) > e.epsilon ? sign(f - y) : 0;
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
    default: return -weight * e.size * slope(e, f, y);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    walk_rules(const Rule* rules, const double* labels, const double* weights, const long long* first_row, int rows) {
  const long long first = *first_row;
  constexpr int B = ROWS;
  const Rule& e = rules[blockIdx.x];
  const int t = threadIdx.x, C = (int)e.outputs;
  __shared__ double before[B], after[B];  // factors of w at a row: before its step, and behind it
  real *const F = e.F, *const A = e.A;
  double round = e.state[0], divisor = e.state[1], y_max = e.state[2], norm2 = *e.norm2;
  for (int q = t; q < C * B; q += THREADS) A[q] = 0;
  for (int q = t; q < B; q += THREADS) before[q] = after[q] = 1;
  bool halted = *e.stopped >= 0;
  __syncthreads();
  for (int i = 0; i < rows && !halted; ++i) {
    const double weight = weights[first + i];
    double y = labels[first + i], f = F[i] / divisor, kxx = e.kxx[i];
    int plus = 0, minus = -1;
    bool mistake, fine = true;
    if (e.task == SEVERAL) {
      plus = (int)y;
      double best = -1e300;
      for (int c = 0; c < C; ++c) {
        const double other = F[c * B + i] / divisor;
        fine = fine && moderate(other, e.largest);
        if (c != plus && other > best) best = other, minus = c;
      }
      f = F[plus * B + i] / divisor;
      mistake = best > f || (best == f && minus < plus);
      f -= best, y = 1, kxx *= 2;
    } else {
      fine = moderate(f, e.largest);
      mistake = e.task == TWO_CLASSES ? (f >= 0 ? 1.0 : -1.0) != y : f != y;
    }
    double beta = 0;
    if (fine && weight != 0) {
      beta = beta_of(e, f, y, kxx, mistake, weight);
      fine = moderate(beta, e.largest) && moderate(beta * beta * kxx, e.largest_square);
    }
    if (!fine) {
      halted = true;
      if (t == 0) *e.stopped = first + i;
      break;
    }
    for (int c = t; c < C; c += THREADS) e.scores[(first + i) * C + c] = F[c * B + i] / divisor;
    if (weight == 0) continue;
    ++round;
    y_max = fmax(y_max, fabs(y));
    divisor = e.kind == SGD ? round : 1;
    const double shrink = e.shrink;
    double pull = 1;
    if (e.ball > 0 && beta != 0) {
      const double zz = e.G[i * B + i];
      norm2 += 2 * beta * (double)F[plus * B + i] + beta * beta * zz;
      if (minus >= 0) norm2 += -2 * beta * (double)F[minus * B + i] + beta * beta * zz;
      const double norm = sqrt(fmax(norm2, 0.0)) / divisor, radius = y_max * e.ball;
      if (norm > radius) pull = radius / norm, norm2 *= pull * pull;
    }
    __syncthreads();  // all have read the scores of this row
    if (shrink != 1 || pull != 1) {
      for (int q = t; q < C * B; q += THREADS) {
        const int c = q / B, j = q % B;
        if (j <= i) continue;
        const double v = c == plus ? beta : c == minus ? -beta : 0;
        F[q] = (real)(((double)F[q] * shrink + v * (double)e.G[i * B + j]) * pull);
      }
    } else if (beta != 0) {
      for (int j = i + 1 + t; j < B; j += THREADS) {
        const real step = (real)beta * e.G[i * B + j];
        F[plus * B + j] += step;
        if (minus >= 0) F[minus * B + j] -= step;
      }
    }
    if (t == 0) {
      before[i] = shrink, after[i] = pull;
      if (beta != 0) {
        A[plus * B + i] = (real)beta;
        if (minus >= 0) A[minus * B + i] = (real)-beta;
      }
    }
    __syncthreads();
  }
  __syncthreads();
  if (t == 0) {
    double total = 1;
    for (int i = B - 1; i >= 0; --i) {
      const double behind = total * after[i];
      total = behind * before[i];
      after[i] = behind;
    }
    *e.total = total;
    e.state[0] = round, e.state[1] = divisor, e.state[2] = y_max;
  }
  __syncthreads();
  for (int q = t; q < C * B; q += THREADS) A[q] = (real)((double)A[q] * after[q % B]);
}
