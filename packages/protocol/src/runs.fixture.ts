/** How many runs a property gets: few by default, more when `MILLRACE_RUNS` multiplies them. */
export const runs = (n: number): number => Math.ceil(n * Number(process.env['MILLRACE_RUNS'] ?? 1))
