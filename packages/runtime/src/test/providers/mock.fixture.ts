import { type FixtureResponse, LLMock } from '@copilotkit/aimock'

/** A server that speaks the protocols of providers, on loopback, answering one call after the other. */
export async function mockServer(...answers: readonly FixtureResponse[]) {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  let count = 0
  mock.on({ endpoint: 'chat' }, () => answers[count++] as FixtureResponse)
  await mock.start()
  return {
    mock,
    url: `${mock.url}/v1`,
    /** The messages of each call, as the server understood them. */
    get asked() {
      return mock.getRequests().map(({ body }) => body as { messages?: { role: string; content: unknown }[] })
    },
    close: () => mock.stop(),
  }
}
