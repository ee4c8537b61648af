import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where child processes of tests share what V8 compiled. Without it each process compiles hundreds of sources again. */
export const NODE_COMPILE_CACHE = process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache')

/** The environment of a child process that shares compiled code. */
export const cachedEnv = (): NodeJS.ProcessEnv => ({ ...process.env, NODE_COMPILE_CACHE })
