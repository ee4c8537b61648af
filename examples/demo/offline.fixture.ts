// Imported before the agents: a test says nothing to the provider of whoever runs it.

for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']) delete process.env[name]
