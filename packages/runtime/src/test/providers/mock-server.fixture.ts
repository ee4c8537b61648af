import { type FixtureResponse, LLMock } from '@copilotkit/aimock'

/** A mock of the providers' servers on loopback. Answers the calls in order. */
export async function mockServer(...answers: readonly FixtureResponse[]) {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  let count = 0
  mock.on({ endpoint: 'chat' }, () => answers[count++] as FixtureResponse)
  await mock.start()
  return {
    mock,
    url: `${mock.url}/v1`,
    /** The messages of each call. */
    get requestBodies() {
      return mock.getRequests().map(({ body }) => body as { messages?: { role: string; content: unknown }[] })
    },
    close: () => mock.stop(),
  }
}
