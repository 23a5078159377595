// Our own few drawings, on a grid of 16.
const DRAWN = {
  home: 'M2.5 7.5 8 3l5.5 4.5M4 6.8V13h8V6.8M6.8 13V9.5h2.4V13',
  jobs: 'M2.5 4h2M2.5 8h2M2.5 12h2M6.5 4h7M6.5 8h7M6.5 12h7',
  create: 'M8 3v10M3 8h10',
  nodes: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  volumes:
    'M3 4.5C3 3.4 5.2 2.5 8 2.5s5 .9 5 2-2.2 2-5 2-5-.9-5-2ZM3 4.5v7c0 1.1 2.2 2 5 2s5-.9 5-2v-7M3 8c0 1.1 2.2 2 5 2s5-.9 5-2',
  datasets: 'M8 2.5 14 5.5 8 8.5 2 5.5zM2.5 8.2 8 11l5.5-2.8M2.5 10.9 8 13.7l5.5-2.8',
  algorithms: 'M5.5 3.5H3v9h2.5M10.5 3.5H13v9h-2.5M6.5 5.8l3 4.4M9.5 5.8l-3 4.4',
  secrets: 'M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3M8 10v1.5',
  settings: 'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.5v3M6 9.5v3',
  folder: 'M2 4h4l1.5 1.5H14V13H2z',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  close: 'M4 4l8 8M12 4l-8 8',
  down: 'M8 3v8M4.5 8 8 11.5 11.5 8M3 13.5h10',
  right: 'M6 3.5 10.5 8 6 12.5',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  stop: 'M4 4h8v8H4z',
  pencil: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7l2.3 2.3',
  again: 'M13 8a5 5 0 1 1-1.5-3.550M13 2.5v3h-3',
  warn: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8h.01',
  star: 'M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4 4.4 13.3l.7-4-2.9-2.8 4-.6z',
  compare: 'M3 3h4v10H3zM9 3h4v10H9zM4.5 6h1M10.5 6h1M10.5 9h1',
  help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M6.2 6.2C6.2 4 9.8 4 9.8 6.3 9.8 7.8 8 7.8 8 9.2M8 11.3h.01',
  curve: 'M2.5 2.5v11h11M4.5 5c1.5 4.5 3.5 5 8.5 5.5',
  wide: 'M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9',
  box: 'M2.5 5 8 2.5 13.5 5v6L8 13.5 2.5 11zM2.5 5 8 7.5 13.5 5M8 7.5v6',
} as const

export type IconName = keyof typeof DRAWN

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={DRAWN[name]} />
    </svg>
  )
}

export function Mark({ size = 26 }: { size?: number }) {
  return <img src="/favicon.svg" width={size} height={size} alt="" />
}
