export default { build: { ssr: 'main.js', outDir: 'out/vite' }, ssr: { noExternal: true } }
