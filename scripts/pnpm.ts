// `npm run pnpm -- <arguments>`: the pinned pnpm under the pinned Node, to change dependencies and the lockfile.
import { command } from './command.ts'

process.exitCode = (await command('pnpm', process.argv.slice(2))).code
