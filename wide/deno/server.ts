// An app that Deno serves, as docs/guide/server.md shows it. Prints its port when it listens.
import { agent, millrace, scriptedModel } from 'millrace'

const model = scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` }))
const app = millrace({ store: 'memory:', agents: [agent({ name: 'echo', model })] })

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(address: { port: number }): void },
    fetch: (request: Request) => Response | Promise<Response>,
  ): void
}
Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: ({ port }) => console.log(port) }, app.fetch)
