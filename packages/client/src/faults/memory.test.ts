import { tabSuite } from './tab-suite.fixture.ts'

tabSuite({ name: 'memory', count: 100, lanes: 24 })
