// Fails a test that leaves resources open, and names them. Runs in every test file, before its own hooks.
import { afterAll, beforeEach, type RunnerTestFile } from 'vitest'
import { cpuMs } from './cpu.ts'
import { Guard, messageOf } from './guard.ts'

const cpuBefore = cpuMs()
const guard = new Guard()
let file: RunnerTestFile | undefined

beforeEach(({ task, onTestFinished }) => {
  file = task.file
  // Resources of concurrent tests cannot be attributed to one test. They are checked at the end of the file.
  if (task.concurrent) return
  const leftBy = guard.begin(task.fullName)
  // Hooks run in reverse order of registration: this one runs when the test has cleaned up.
  onTestFinished(async () => {
    const left = await leftBy()
    if (left.length > 0) throw new Error(messageOf(task.fullName, left))
  })
})

afterAll(async () => {
  const left = await guard.end()
  if (file) file.meta.cpuMs = cpuMs() - cpuBefore
  if (left.length > 0) throw new Error(messageOf(file?.name ?? 'a file without tests', left))
})
