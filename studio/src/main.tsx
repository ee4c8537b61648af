import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import { Many } from './many/many.tsx'

const root = document.getElementById('root')
if (root === null) throw new Error('Expected an element with the id "root".')
const many = Number(new URLSearchParams(location.search).get('many'))

createRoot(root).render(<StrictMode>{many > 0 ? <Many count={Math.min(many, 40)} /> : <App />}</StrictMode>)
