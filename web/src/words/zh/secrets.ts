import type { Words } from '../en.ts'

// 密钥页的用词。

export const secrets: Words['secrets'] = {
  title: '密钥',
  intro: '作业要用的密码和密钥。只能写入，不能读出。',
  name: '名称',
  value: '值',
  set: '保存密钥',
  setSubmit: '保存',
  changed: '上次设定',
  remove: '移除',
  removeTitle: name => `移除 ${name}？`,
  removeHint: '已经拿到它的任务继续使用；之后启动的任务得不到它。',
  removed: name => `已移除 ${name}`,
  kept: name => `已保存 ${name}`,
  empty: '没有密钥',
  emptyHint: '保存一个，作业就能用名字引用它：`secrets: { key: { named: wandb } }`。',
}
