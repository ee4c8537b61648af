import { expect, test } from 'vitest'
import * as z from 'zod'
import { json } from '../http/reply.ts'
import { callRoute, route } from './route.ts'
import type { Services } from './services.ts'

test('validates a body up to its first problem, however many there are', async () => {
  let checked = 0
  const element = z.custom(() => {
    checked++
    return false
  })
  const path = '/list'
  const body = z.object({ list: z.array(z.object({ element })) })
  const listRoute = route({ method: 'POST', path, action: 'run', summary: '', body, handle: async () => json(200, {}) })
  const url = new URL(`http://localhost${path}`)
  const sent = JSON.stringify({ list: Array(1000).fill({ element: 1 }) })
  const request = new Request(url, { method: 'POST', body: sent, headers: { 'content-type': 'application/json' } })
  const count = { bytes: 0, add: () => {}, settle: () => {}, release: () => {} }
  const caller = { principal: null, owner: null, label: 'guest' }
  const services = { limits: { bodyBytes: 100_000 } } as unknown as Services
  const call = { services, request, url, params: {}, caller, bodyBytes: count, replyBytes: count }
  await expect(callRoute(listRoute, call)).rejects.toMatchObject({ code: 'body_invalid' })
  expect(checked).toBe(1)
})
