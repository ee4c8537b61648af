// `npm start`: the demo of examples/demo with its page, on SQLite under `.millrace/` of the folder where it is started.

// Who started this may be killed and tell nobody: then the port must not stay taken.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()

try {
  await import('../examples/demo/server.ts')
} catch (error) {
  if (!isPortTaken(error)) throw error
  const port = Number(process.env['PORT'] || 4400)
  console.error(`Port ${port} is in use. Stop what listens there, or choose another port: PORT=${port + 1} npm start`)
  process.exit(1)
}

function isPortTaken(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) if ('code' in e && e.code === 'EADDRINUSE') return true
  return false
}
