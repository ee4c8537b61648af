import { useEffect, useState } from 'react'

/** Calls `onFile` for files dropped on matching elements. Returns whether a file is dragged over one. */
export function useDrop(selector: string, onFile: (file: File) => void): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const isFileOverTarget = ({ target, dataTransfer }: DragEvent) =>
      target instanceof Element && target.closest(selector) !== null && dataTransfer?.types.includes('Files') === true
    const over = (event: DragEvent) => {
      const isOverTarget = isFileOverTarget(event)
      setOver(isOverTarget)
      if (isOverTarget) event.preventDefault()
    }
    const drop = (event: DragEvent) => {
      setOver(false)
      if (!isFileOverTarget(event)) return
      event.preventDefault()
      const file = event.dataTransfer?.files[0]
      if (file) onFile(file)
    }
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false)
    }
    addEventListener('dragover', over)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', over)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [selector, onFile])
  return isOver
}
