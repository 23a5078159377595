import type { versioned as english } from '../en/versioned.ts'

// 数据集和算法共同的用词：两者都有名称、所有者和版本号。

export const versioned: typeof english = {
  name: '名称',
  newest: '最新版本',
  version: '版本',
  made: '创建时间',
  madeBy: '创建者',
  description: '描述',
  noJobs: '还没有作业',
  nothingHint: '换个关键词，或者清空搜索框。',
  newVersion: '新建版本',
  newVersionOf: name => `新建 ${name} 的版本`,
  added: name => `${name} 已创建`,
  same: name => `内容没有变化，仍是 ${name}`,
  versions: '版本',
  owner: '所有者',
  train: '用它训练',
  forget: '移除',
  forgetVersion: name => `移除 ${name}`,
  forgetTitle: name => `移除 ${name}？`,
  forgotten: name => `已移除 ${name}`,
  noVersions: '所有版本都已移除',
}
