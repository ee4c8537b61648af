// Under `npm run chaos`, every property starts from the seed that was printed.
import { configureGlobal } from 'fast-check'

configureGlobal({ seed: Number(process.env['MILLRACE_SEED']) })
