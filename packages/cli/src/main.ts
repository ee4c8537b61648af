#!/usr/bin/env node
// The `millrace` command.

import { run } from './commands/run.ts'

// The reader of standard output is gone: exit.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
// The reader of standard error is gone: continue, standard output may still be read.
process.stderr.on('error', () => {})
process.exitCode = await run(process.argv.slice(2))
