// Server of a peer: serves the page, and enough origins for all answers at once.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { SystemServer } from './open-server.ts'
import type { ScriptedAnswers } from './scripted-answers.ts'

/** A browser opens six connections per origin over HTTP/1.1. One is reserved for other requests. */
const ANSWERS_AN_ORIGIN = 5

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-max-age': '600',
}

/** Handles a request for answer number `answer`. */
export type AnswerHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  answer: number,
  script: ScriptedAnswers,
) => unknown

/** Opens a server for the page in `folder`, with as many origins as the answers need. */
export function openPeerServer(folder: string, onAnswer: AnswerHandler): SystemServer {
  const files = { script: readFileSync(join(folder, 'page.js')), page: readFileSync(join(folder, 'index.html')) }
  const origins: string[] = []
  let current: ScriptedAnswers | undefined
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const { method, url = '/' } = request
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value)
    if (method === 'OPTIONS') response.writeHead(204).end()
    else if (method === 'POST' && current)
      onAnswer(request, response, Number(url.slice(url.lastIndexOf('/') + 1)), current)
    else if (url === '/page.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(files.script)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(files.page)
  }
  return {
    async show({ answers }, script) {
      current = script
      while (origins.length * ANSWERS_AN_ORIGIN < answers) {
        const server = createServer(listener).listen(0, '127.0.0.1')
        await once(server, 'listening')
        origins.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      }
      const conversations = Array.from({ length: answers }, (_, i) => {
        return { url: `${origins[Math.floor(i / ANSWERS_AN_ORIGIN)]}/answer/${i}` }
      })
      return { page: origins[0] as string, conversations }
    },
  }
}
