import { AdapterChat, createStream, fromAsyncIterable, type ChatAdapter } from '@millrace/client'
const sleep = (ms: number) => new Promise(r => setTimeout(r, ms))
const log = (...a: unknown[]) => console.log(...a)
const show = (c: AdapterChat) => c.store.messages.map(m => `${m.role}[${m.id.slice(0,8)}] ${m.status} ${m.parts.map((p: any) => p.type === 'text' ? JSON.stringify(p.text) + p.state : p.type + ':' + (p.state ?? '') + (p.output !== undefined ? '=' + JSON.stringify(p.output) : '')).join(' | ')}`).join('\n   ')
const reply = (id: string, text = 'hi') => [
  { type: 'start', messageId: id }, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: text }, { type: 'text-end', id: 't' }, { type: 'finish', messageId: id }] as any[]
const cases: Record<string, () => Promise<void>> = {
  async hotloop() {
    let n = 0, recovered = 0
    const c = new AdapterChat({ adapter: {
      sendMessage: async () => createStream([{ type: 'start', messageId: 'a' }, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'x' }]),
      reconnectToStream: async () => { n++; return createStream([{ type: 'start', messageId: 'a' }, { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'x' }]) } },
      onError: () => { recovered++ } })
    void c.send('x'); await sleep(1500)
    log('reconnects in 1.5s', n, 'onError', recovered, c.state.status); await c.stop(); log(show(c))
  },
  async hotloop2() {
    let n = 0, recovered = 0
    const c = new AdapterChat({ adapter: {
      sendMessage: async () => createStream([{ type: 'start', messageId: 'a' }]),
      reconnectToStream: async () => { n++; return createStream([{ type: 'start', messageId: 'a' }]) } },
      onError: () => { recovered++ } })
    void c.send('x'); await sleep(1000)
    log('start-only reconnects in 1s', n, 'onError', recovered, c.state.status); await c.stop()
  },
  async badchunkloop() {
    let n = 0
    const c = new AdapterChat({ adapter: {
      sendMessage: async () => createStream([{ type: 'start', messageId: 'a' }, { type: 'text-delta', id: 't' } as any]),
      reconnectToStream: async () => { n++; return createStream([{ type: 'start', messageId: 'a' }, { type: 'text-delta', id: 't' } as any]) } }})
    void c.send('x'); await sleep(1000)
    log('malformed chunk: reconnects in 1s', n, c.state.status, c.state.error?.message); await c.stop()
  },
  async stopNever() {
    const seen: string[] = []
    const c = new AdapterChat({ adapter: {
      sendMessage: async ({ message }) => { seen.push((message.parts[0] as any).text); return new ReadableStream({ start(k) { k.enqueue({ type: 'start', messageId: 'r' + seen.length }) } }) },
      stop: () => new Promise(() => {}) } })
    void c.send('one'); await sleep(20); void c.send('two'); await sleep(20)
    void c.stop(); await sleep(100); void c.send('three'); await sleep(100)
    log('stop never resolves: asked', seen, c.state.status, '\n  ', show(c))
    const i = c.send('four', { whenBusy: 'interrupt-previous' }); await sleep(50)
    log('asked', seen, c.state.status, '\n  ', show(c))
  },
  async historyFails() {
    let n = 0
    const c = new AdapterChat({ adapter: { sendMessage: async () => createStream(reply('a')), listMessages: async () => { n++; if (n === 1) throw new Error('503'); return { messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'old' }] }] } } } })
    const leave = c.start(); await sleep(20)
    log('history err', c.state.error, 'hasOlder', c.state.hasOlder)
    await c.loadOlder(); log('after loadOlder calls', n, show(c))
    leave(); c.start(); await sleep(20); log('after restart calls', n)
    await c.retry(); log('after retry calls', n, c.state.error?.code)
  },
  async paused() {
    let k!: ReadableStreamDefaultController<any>
    const c = new AdapterChat({ adapter: {
      sendMessage: async () => createStream<any>([{ sequence: 1, chunk: { type: 'start', messageId: 'a' } }, { sequence: 2, chunk: { type: 'tool-approval-request', toolCallId: 'c', toolName: 'pay', input: { e: 1 } } }]),
      reconnectToStream: async () => new ReadableStream({ start(x) { k = x; x.enqueue({ type: 'data-ping', data: 1, transient: true }) } }),
      addToolApprovalResponse: async () => {} } })
    void c.send('x'); await sleep(100)
    log('paused after reconnect? status', c.state.status, 'pendings', c.store.pendings.length, show(c))
    await c.stop()
  },
  async odd() {
    for (const [name, value] of Object.entries({ date: new Date(), map: new Map([[1, 2]]), fn: () => 1, big: 10n, undef: undefined, nan: NaN, cyc: (() => { const a: any = {}; a.a = a; return a })() })) {
      const c = new AdapterChat({ adapter: { sendMessage: async () => createStream([{ type: 'start', messageId: 'a' }, { type: 'data-x', data: value, id: '1' }, { type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: value }, { type: 'tool-output-available', toolCallId: 'c', output: value }, { type: 'message-metadata', metadata: { v: value } }, { type: 'finish', messageId: 'a' }] as any) } })
      let fin: any; c.callbacks = { onFinish: f => { fin = f } }
      await c.send('x'); await sleep(60)
      log('data', name, c.state.status, c.state.error?.message, show(c).split('\n')[1])
      try { await c.regenerate(); await sleep(40); log('   regen', c.state.status, c.state.error?.message) } catch (e) { log('   regen threw', String(e)) }
    }
  },
  async wrongShapes() {
    for (const v of [null, undefined, 'text', 3, new Uint8Array(3), {}, { chunk: null }, { type: 'error', errorText: 'boom' }, { type: 'unknown' }, [], { type: 'tool-output-available', toolCallId: 'nope', output: 1 }, {type:'message-metadata'}, {sequence:'1', chunk:{type:'start'}}, {type:'start', messageId: 5}, {type:'text-delta', id:'t', delta: 5}, {type: 'data-'}, {type:'finish', finishReason: 3}, {type: 'tool-x', toolCallId: 'a'}]) {
      const c = new AdapterChat({ adapter: { sendMessage: async () => createStream([{ type: 'start', messageId: 'a' }, v, { type: 'finish', messageId: 'a' }] as any) } })
      await c.send('x'); await sleep(40)
      log('value', JSON.stringify(v), '->', c.state.status, c.state.error?.code, c.state.error?.message, c.store.messages.at(-1)?.status, c.store.messages.map(m=>m.id).at(-1))
    }
    for (const v of [null, undefined, 'x', (async function* () { yield { type: 'start' } })(), new Response('x'), new Response('x').body]) {
      const c = new AdapterChat({ adapter: { sendMessage: async () => v as any } })
      const r = await c.send('x'); await sleep(40)
      log('sendMessage ->', Object.prototype.toString.call(v), c.state.status, c.state.error?.message)
    }
  },
  async errorChunk() { // AI SDK / tanstack error mid stream
    const c = new AdapterChat({ adapter: { sendMessage: async () => createStream([{ type: 'start', messageId: 'a' }, { type: 'error', errorText: 'boom' } as any]) } })
    await c.send('x'); await sleep(40); log('error chunk', c.state.status, c.state.error?.message)
  },
  async neverResolves() {
    const c = new AdapterChat({ adapter: { sendMessage: () => new Promise(() => {}) } })
    const p = c.send('x'); await sleep(20); log('never', c.state.status); await c.stop(); log(await p, c.state.status, show(c))
    await c.send('y').catch(()=>{}) ; 
  },
  async filesLeak() {
    const orig = URL.createObjectURL; let made = 0; URL.createObjectURL = (f: any) => { made++; return orig(f) }
    const c = new AdapterChat({ whenBusy: 'reject', adapter: { sendMessage: () => new Promise(() => {}) } })
    void c.send('x'); await sleep(5)
    await c.send({ files: [new File(['a'], 'a')] }); await c.send({ files: [new File(['a'], 'a')] })
    log('object urls made for refused sends', made, show(c))
  },
  async gappy() {
    const c = new AdapterChat({ adapter: { sendMessage: async () => createStream<any>(reply('a').map((chunk, i) => ({ sequence: i * 10, chunk }))) } })
    await c.send('x'); await sleep(100); log('monotonic gappy sequences', c.state.status, c.state.error?.message, show(c))
  },
  async approveAfterFinish() {
    const got: any[] = []
    const c = new AdapterChat({ adapter: { sendMessage: async () => createStream<any>([{ type: 'start', messageId: 'a' }, { type: 'tool-approval-request', toolCallId: 'c', toolName: 'pay', input: { e: 1 }, approvalId: 'ap' }, { type: 'finish', messageId: 'a' }]), addToolApprovalResponse: async a => { got.push(a) } } })
    await c.send('x'); await sleep(50); log(c.state.status, c.store.pendings.map(p => p.id))
    await c.answer({ kind: 'approval', id: 'ap', approved: true }); await sleep(30); log(got, c.state.status, show(c))
    await c.answer({ kind: 'approval', id: 'ap', approved: true }).catch(e => log('second', e.message))
    await c.send('y'); await sleep(50); log(show(c))
  },
  async denyThenFinish() {
    let k!: any
    const c = new AdapterChat({ adapter: { sendMessage: async () => new ReadableStream({ start(x) { k = x; for (const v of [{ type: 'start', messageId: 'a' }, { type: 'tool-approval-request', toolCallId: 'c', toolName: 'pay', input: { e: 1 } }]) x.enqueue(v) } }), addToolApprovalResponse: async a => { k.enqueue({ type: 'tool-output-denied', toolCallId: 'c', reason: 'no' }); k.enqueue({ type: 'finish', messageId: 'a' }) } } })
    await c.send('x'); await sleep(50); log(c.state.status)
    await c.answer({ kind: 'approval', id: 'c', approved: false, reason: 'no' }); await sleep(30); log(c.state.status, show(c), JSON.stringify((c.store.messages[1] as any).parts[0]))
  },
  async regenMiddle() {
    let n = 0
    const calls: any[] = []
    const c = new AdapterChat({ adapter: { sendMessage: async ({ messages }) => { calls.push(messages.map(m => m.id.slice(0, 4) + m.role[0])); if (n === 99) throw new Error('no'); return createStream(reply('a' + n++, 'r' + n)) } } })
    for (const t of ['1', '2', '3']) { await c.send(t); await sleep(30) }
    const ids = c.store.messageIds
    n = 99; await c.regenerate(ids[3]); await sleep(30); log('refused regen', c.state.error?.code, '\n  ', show(c))
    n = 10; await c.regenerate(ids[3]); await sleep(30); log('regen', '\n  ', show(c), JSON.stringify(calls))
    const q = [c.send('a'), c.send('b'), c.send('c')]; await Promise.all(q); await sleep(50); log(show(c))
  },
  async throwing() {
    const c = new AdapterChat({ adapter: { sendMessage: async () => createStream(reply('a')) }, onFinish: () => { throw new Error('cb') }, onError: (async () => { throw new Error('cb2') }) as any })
    const e = console.error; let n = 0; console.error = () => { n++ }
    await c.send('x'); await sleep(30); console.error = e; log('throwing cb printed', n, c.state.status)
  },
  async sameIds() {
    const c = new AdapterChat({ adapter: { sendMessage: async () => createStream(reply('same', 'r')) } })
    await c.send('1'); await sleep(30); await c.send('2'); await sleep(30); log('same reply id for two turns:\n  ', show(c))
  },
  async cancelProp() {
    let cancelled = 0, aborted = 0, returned = 0
    const c = new AdapterChat({ adapter: { sendMessage: async ({ signal }) => { signal.onabort = () => aborted++; return fromAsyncIterable<any>((async function* () { try { yield { type: 'start', messageId: 'a' }; for (;;) { await sleep(5); yield { type: 'text-delta', id: 't', delta: 'x' } } } finally { returned++ } })()) } } })
    const leave = c.start(); void c.send('x'); await sleep(50); leave(); await sleep(30); log('unmount: aborted', aborted, 'returned', returned, show(c))
    void c.send('y'); await sleep(30); log('send after leave (not started):', c.state.status, c.state.connection); await c.stop()
  },
  async slowConsumer() {
    let made = 0
    const c = new AdapterChat({ adapter: { sendMessage: async () => new ReadableStream<any>({ pull(k) { if (made === 0) k.enqueue({ type: 'start', messageId: 'a' }); else if (made <= 200000) k.enqueue({ type: 'text-delta', id: 't', delta: 'word ' }); else { k.enqueue({ type: 'finish', messageId: 'a' }); k.close() } made++ } }) } })
    const t = performance.now(); let max = 0, last = t; const iv = setInterval(() => { const n = performance.now(); max = Math.max(max, n - last); last = n }, 1)
    await new Promise<void>(r => { c.callbacks = { onFinish: () => r() }; void c.send('x') }); clearInterval(iv)
    log('200k deltas', Math.round(performance.now() - t), 'ms longest block', Math.round(max))
  },
}
for (const name of process.argv.slice(2).length ? process.argv.slice(2) : Object.keys(cases)) {
  log('##', name)
  await Promise.race([cases[name]!().catch(e => log('THREW', e)), sleep(6000).then(() => {})])
}
process.exit(0)
