#!/usr/bin/env node
// The `millrace` command.

import { run } from './run.ts'

// Whoever read what was written has read enough.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
process.exitCode = await run(process.argv.slice(2))
