import type { Words } from '../en.ts'

// 每个页面共用的词，以及登录页的用词。

export const app: Words['app'] = {
  name: 'Trainmaster',
  skip: '跳到正文',
  logOut: '退出登录',
  theme: { label: '主题', light: '浅色', dark: '深色', system: '跟随系统' },
  languageLabel: '语言',
  notFound: '没有这个页面',
  notFoundHint: '地址可能写错了，或者它指向的内容已经删除。',
  toHome: '回到总览',
  broken: '页面出错了',
  brokenHint: '重新加载即可；服务器和作业都不受影响。',
  reload: '重新加载',
  about: (what, told) => `${what}：${told}`,
  away: '连不上服务器',
  awayHint: '作业会照常运行。本页面会自动重试。',
  cancel: '取消',
  close: '关闭',
  copy: '复制',
  copied: '已复制',
  more: '更多',
  none: '无',
  loading: '加载中…',
  hint: '处理建议：',
}

export const nav: Words['nav'] = {
  main: '主导航',
  home: '总览',
  jobs: '作业',
  create: '新建作业',
  nodes: '节点',
  volumes: '数据卷',
  datasets: '数据集',
  algorithms: '算法',
  secrets: '密钥',
  settings: '设置',
  help: '帮助',
}

export const login: Words['login'] = {
  title: '登录',
  intro: '在自己的机器上训练模型：提交、观察、弄清原因。',
  token: '令牌',
  tokenHelp: '在服务器所在的机器上运行 `trainmaster console`，可得到免令牌的登录链接。',
  submit: '登录',
  byLink: '正在登录…',
  linkUsed: '这个链接已经用过或已过期。运行 `trainmaster console` 可得到新的链接。',
  refused: '服务器不认识这个令牌，请检查首尾是否漏了字符。',
}

export const states: Words['states'] = {
  queued: '等待',
  starting: '初始化',
  running: '运行',
  finishing: '收尾',
  stopping: '终止中',
  unknown: '失联',
  succeeded: '完成',
  failed: '错误',
  stopped: '终止',
}
