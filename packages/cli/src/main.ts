#!/usr/bin/env node
// The `millrace` command.

import { run } from './commands/run.ts'

// Whoever read what was written has read enough.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))
// Who does not listen to how it goes may still want what was asked for.
process.stderr.on('error', () => {})
process.exitCode = await run(process.argv.slice(2))
