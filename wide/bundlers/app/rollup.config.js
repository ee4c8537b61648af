import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'

export default {
  input: 'main.js',
  plugins: [resolve({ preferBuiltins: true, exportConditions: ['node'] }), commonjs()],
  output: { dir: 'out/rollup', format: 'es' },
}
