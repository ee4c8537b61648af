// An application that checks two responses with a form and prints what it found; bundled by a test. It does not close the
// checker: the worker must not keep the process alive.

import { SchemaChecker } from './schema-checker.ts'

const checker = new SchemaChecker({ now: () => performance.now() })
const schema = { type: 'string', pattern: '^a' }
const check = (value: string) => checker.check({ schema, value }, 1000, { kind: 'owner', id: 's' })
console.log(JSON.stringify([await check('ab'), await check('ba')]))
