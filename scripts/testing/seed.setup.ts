// Every property starts from one seed, so that a test run says the same twice: `npm test` from a fixed one, `npm run chaos`, which looks for
// what is not known yet, from the one that it prints.
import { configureGlobal } from 'fast-check'

configureGlobal({ seed: Number(process.env['MILLRACE_SEED'] ?? 1) })
