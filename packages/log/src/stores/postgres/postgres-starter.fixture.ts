// A process that opens a store on a database that may be empty, and prints the results of its first calls.

import { postgresStore } from './index.ts'

const [url = '', schema = '', id = ''] = process.argv.slice(2)
const store = postgresStore({ url, schema, poolSize: 2 })
const createdOwn = await store.create(`own-${id}`, null)
const shared = await store.create('shared', null)
await store.close()
console.log(JSON.stringify({ createdOwn, shared }))
