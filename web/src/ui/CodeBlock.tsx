/** Text as it is. It can be reached by keyboard, for it may be wider than the page. */
export function CodeBlock({ label, text }: { label: string; text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="code-block" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  )
}
