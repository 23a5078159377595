import type { Words } from '../en.ts'
import { versioned } from './versioned.ts'

// 数据集页的用词。

export const datasets: Words['datasets'] = {
  ...versioned,
  title: '数据集',
  intro: '有名字、有版本号的数据。作业写 `mnist@3`，读到的就是当时那批文件；内容变了，作业就不会开始。',
  nameHelp: '字母、数字和连字符，例如 mnist。',
  place: '位置',
  placeHelp: '数据卷中的文件夹或文件。不会复制数据，只记下此刻的内容。',
  files: '文件数',
  filesOf: name => `${name} 的文件`,
  size: '大小',
  descriptionHelp: '说明这是什么数据，方便别人找到。',
  note: '备注',
  noteHelp: '这个版本有什么不同。',
  jobs: '使用它的作业',
  search: '搜索数据集',
  nothing: '没有符合条件的数据集',
  add: '添加数据集',
  addSubmit: '添加',
  adding: '正在清点文件…',
  newVersionSubmit: '创建版本',
  count: '版本数',
  fingerprint: '指纹',
  forgetVersionHint: '文件保持原样，已提交的作业不受影响；新的作业不能再使用这个版本。',
  forgetAll: '移除数据集',
  forgetAllHint: '所有版本都会移除。文件保持原样，已提交的作业不受影响。',
  noVersionsHint: '可以新建一个版本；用过的版本号不会再用。',
  empty: '还没有数据集',
  emptyHint: '数据集为数据卷中的一个文件夹起名，并把其中的内容定为版本 1、2、3……作业读到的就是那一份。',
  notThere: '没有这个数据集',
  toAll: '全部数据集',
}
