/** Seeds that failed before, each with the bug it found, by store. */
export const FAILED_SEEDS: Readonly<Record<'sqlite' | 'redis' | 'postgres', ReadonlyMap<number, string>>> = {
  sqlite: new Map([
    [7, 'a follower that joined after a rewind showed the request of a removed run as waiting forever'],
    [58, 'a follower of one run got its end without the entries between its pause and its end'],
  ]),
  redis: new Map(),
  postgres: new Map(),
}
