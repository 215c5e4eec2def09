// Small dense linear algebra in double precision.

/** The solution of matrix · x = right for a symmetric positive definite matrix (rows in one array); both are overwritten. */
export function solve(matrix, right) {
  factorise(matrix, right.length);
  return substitute(matrix, right);
}

/** Replace the lower triangle of a matrix by its Cholesky factor. */
export function factorise(a, d) {
  for (let j = 0; j < d; j++) {
    let pivot = a[j * d + j];
    for (let k = 0; k < j; k++) pivot -= a[j * d + k] ** 2;
    pivot = Math.sqrt(Math.max(pivot, 1e-300));
    a[j * d + j] = pivot;
    for (let i = j + 1; i < d; i++) {
      let left = a[i * d + j];
      for (let k = 0; k < j; k++) left -= a[i * d + k] * a[j * d + k];
      a[i * d + j] = left / pivot;
    }
  }
}

/** Solve with a Cholesky factor, in place. */
export function substitute(a, x) {
  const d = x.length;
  for (let i = 0; i < d; i++) {
    for (let k = 0; k < i; k++) x[i] -= a[i * d + k] * x[k];
    x[i] /= a[i * d + i];
  }
  for (let i = d - 1; i >= 0; i--) {
    for (let k = i + 1; k < d; k++) x[i] -= a[k * d + i] * x[k];
    x[i] /= a[i * d + i];
  }
  return x;
}

/** The product of one row of a matrix with a vector. */
export function rowTimes(matrix, row, vector) {
  const { columns, at } = matrix;
  let sum = 0;
  for (let c = 0, from = row * columns; c < columns; c++) sum += at[from + c] * vector[c];
  return sum;
}

/** Sum of rows of a matrix. */
export function sumOfRows(matrix, rows) {
  const { columns, at } = matrix, sum = new Float64Array(columns);
  for (const row of rows) for (let c = 0, from = row * columns; c < columns; c++) sum[c] += at[from + c];
  return sum;
}
