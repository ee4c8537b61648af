import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // Resolves the packages of this workspace to their sources, so that none has to be built first.
  resolve: { conditions: ['@millrace/source', ...defaultClientConditions] },
  // The page has no inline code, so that its policy can allow only files of this server.
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Dependencies change rarely, so a separate chunk stays in the browser cache after a rebuild.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'vendor', test: /node_modules/ }] } } },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:4400' } },
})
