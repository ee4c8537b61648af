import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Folders and files with tests of many seconds. Started last, one of them would leave the other worker idle. */
const LONG =
  /\/(chaos|crash|faults|process|races|scale|workers)\/|\/(pack|site|site-code|crash)\.test|contenders|mutants/

/** Orders test files so that long ones start first and files of one project stay together, since workers are shared within a project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification) =>
      (project.name === 'isolated' ? 0 : 2) + (LONG.test(moduleId) ? 0 : 1)
    return sorted.sort((a, b) => rank(a) - rank(b))
  }
}
