// Every property starts from a seed: `npm test` from a fixed one, so that two runs do the same; `npm run chaos` from a new one, which it prints.
import { configureGlobal } from 'fast-check'

configureGlobal({ seed: Number(process.env['MILLRACE_SEED'] ?? 1) })
