// `npm run bench -- [names]`: the measurements of bench/.
import { command } from './command.ts'

const { code } = await command('node', ['bench/main.ts', ...process.argv.slice(2)])
process.exitCode = code
