import { probe } from './probe.js'

probe(process.argv[2]).then(found => console.log(JSON.stringify(found)))
