import { tryContenders } from './contenders.fixture.ts'

tryContenders('alone')
