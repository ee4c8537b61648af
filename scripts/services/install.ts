// Installs the programs that tests need, before any test waits for them.
import { program as chromium } from './chromium.ts'
import { program as postgres } from './postgres.ts'
import { findProgram } from './program.ts'
import { program as redis } from './redis.ts'

for (const program of [redis, postgres, chromium]) {
  try {
    console.log(`${program.name}: ${await findProgram(program)}`)
  } catch (error) {
    console.log(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
