import { probe } from './probe.js'

probe(process.argv[2]).then(result => console.log(JSON.stringify(result)))
