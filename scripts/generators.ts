/** Scripts that generate files from the code. With `--check` they fail if a committed file is stale. */
export const generators = ['scripts/reference.ts', 'scripts/api.ts', 'scripts/worker-sources.ts'] as const

/** The test that compares docs/reference/dialects.md with the encoders. With `--update` it writes the page. */
export const DIALECTS_PAGE_TEST = 'interop/reference.test.ts'
