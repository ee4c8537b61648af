import { tryContenders } from './contender-trials.fixture.ts'

tryContenders('served')
